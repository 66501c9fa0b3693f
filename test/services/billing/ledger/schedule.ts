import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { createCorrections } from '../../../../services/billing/ledger/corrections.ts'
import type { Store } from '../../../../services/store/store.ts'
import { checkAccounts, checkEnd } from './world-checks.ts'
import { createWorld } from './world.ts'
import type { Grant, ScheduleResult, World } from './world.ts'

const keep = { nodes: 4, waiting: 30 }

/**
 * Runs a random schedule of requests, crashes, lost answers, partitions and uneven clocks on up to four nodes
 * of one store, checks after every step that no account is overdrawn, and at the end that every request was
 * charged once, or went to suspense, or died with its node.
 */
export async function runSchedule (
  open: (clock: () => number) => Promise<Store>, seed: number, steps: number
): Promise<ScheduleResult> {
  const world = await createWorld(open, seed, (world) => world.random.weighted(requests)(world))
  for (let step = 0; step < steps; step++) {
    await world.random.weighted(actions)(world)
    await checkAccounts(world, `step ${step}`)
    if (world.result.faults.length > 0) return world.result
  }
  await calm(world)
  await checkEnd(world)
  return world.result
}

/** What requests do, at any time. */
const requests: readonly (readonly [number, (world: World) => void])[] = [
  [40, reserve],
  [30, settle],
  [8, release],
  [4, endAgain]
]

const actions: readonly (readonly [number, (world: World) => Promise<void>])[] = [
  [80, async (world) => world.random.weighted(requests)(world)],
  [25, async (world) => await world.advance(world.random.integer(1, 40))],
  [6, async (world) => await world.advance(world.random.integer(500, 8_000))],
  [1, async (world) => await world.advance(world.random.integer(60_000, 120_000))],
  [3, changeWeather],
  [1, crash],
  [2, async (world) => { if (world.nodes.length < keep.nodes) world.startNode() }],
  [2, changeCredits]
]

function reserve (world: World): void {
  const { random, accounts, nodes, grants, result, nextId } = world
  const node = random.pick(nodes)
  if (node === undefined || world.waiting === keep.waiting) return
  const chain = accounts.slice(0, random.integer(1, accounts.length))
  const key = `key-${accounts[0]?.split('-')[1]}`
  const isLarge = random.next() < 0.1
  const amountNano = random.next() < 0.1 ? 0 : isLarge ? random.integer(300, 3_000) : random.integer(1, 200)
  const durable = random.next() < 0.1
  const fresh = random.next() < 0.6
  const id = nextId()
  const asked = (async () => await node.ledger.reserve({ id, chain, key, amountNano, durable, fresh }))()
  const inMemory = !durable
  world.waiting++
  asked.then((hold) => {
    result.granted++
    grants.push({ hold, node, chain, inMemory, settledNano: null, ended: false })
  }, () => { result.refused++ }).finally(() => { world.waiting-- })
}

/** An open hold of a living node; those of a dead one will never end. */
function pickOpen ({ random, grants }: World): Grant | undefined {
  return random.pick(grants.filter(({ ended, node }) => !ended && node.alive))
}

function settle (world: World): void {
  const grant = pickOpen(world)
  if (grant === undefined) return
  const { random } = world
  const { amountNano } = grant.hold
  // A provider may report more than the request could use.
  const costNano = random.next() < 0.1 ? amountNano + random.integer(1, 500) : random.integer(0, amountNano)
  grant.ended = true
  grant.settledNano = costNano
  grant.hold.settle({ amountNano: costNano, ref: grant.hold.id, model: 'm', usage: {}, estimated: false })
}

function release (world: World): void {
  const grant = pickOpen(world)
  if (grant === undefined) return
  grant.ended = true
  grant.hold.release()
}

function endAgain ({ random, grants }: World): void {
  const grant = random.pick(grants.filter(({ ended, node }) => ended && node.alive))
  if (grant === undefined) return
  grant.hold.settle({ amountNano: grant.hold.amountNano, ref: 'again', model: 'm', usage: {}, estimated: false })
  grant.hold.release()
}

const weathers = [[2, 'well'], [1, 'away'], [1, 'answer lost']] as const

async function changeWeather ({ random, nodes }: World): Promise<void> {
  const node = random.pick(nodes)
  if (node !== undefined) node.connection.weather = random.weighted(weathers)
}

async function crash ({ random, nodes, result, startNode }: World): Promise<void> {
  const node = random.pick(nodes)
  if (node === undefined) return
  node.stop()
  node.alive = false
  node.connection.weather = 'away'
  nodes.splice(nodes.indexOf(node), 1)
  result.crashes++
  if (nodes.length === 0) startNode()
}

async function changeCredits ({ random, store, accounts, result }: World): Promise<void> {
  const account = random.pick(accounts) ?? ''
  const id = `more-${account}-${random.integer(1, 20)}`
  const amountNano = 10 * id.length
  // The same id comes again now and then, and changes nothing.
  if (random.next() < 0.7) await createAccounts(store).deposit({ id, account, amountNano })
  else {
    const adjustment = { id: `${id}-less`, account, amountNano: -amountNano, reason: 'a test' }
    await createCorrections(store).adjust(adjustment).catch((error: unknown) => {
      if (!/Less is available/.test(String(error))) result.faults.push(String(error))
    })
  }
}

/** Lets all live nodes finish, and waits until the holds of the dead ones are released. */
async function calm (world: World): Promise<void> {
  world.busy = false
  for (const { connection } of world.nodes) connection.weather = 'well'
  await world.advance(10_000)
  for (const grant of world.grants) if (!grant.ended && grant.node.alive) grant.hold.release()
  await world.advance(300_000)
  for (const { ledger } of world.nodes) {
    const closed = ledger.close()
    await world.advance(1_000)
    await closed
  }
}
