import { createAccounts } from '../../../services/ledger/accounts.ts'
import { checkLedger } from '../../../services/ledger/check.ts'
import { createCorrections } from '../../../services/ledger/corrections.ts'
import { createLedger } from '../../../services/ledger/create.ts'
import type { Hold, Ledger } from '../../../services/ledger/ledger.ts'
import { withDefaults } from '../../../services/ledger/options.ts'
import { createBeatPresence } from '../../../services/ledger/presence.ts'
import type { Store } from '../../../services/store/store.ts'
import { createLog } from './helper.ts'
import { createRandom } from './random.ts'
import type { Random } from './random.ts'
import { createNetwork, createTime } from './simulation.ts'
import type { NodeStore } from './simulation.ts'

/** What a schedule has seen, and what was wrong with it. */
export interface ScheduleResult {
  granted: number
  refused: number
  crashes: number
  reclaimedTerms: number
  booked: number
  suspended: number
  /** Settled on a node that died before it was written. */
  lost: number
  faults: string[]
}

interface Node { id: string, ledger: Ledger, connection: NodeStore, alive: boolean, stop (): void }

interface Grant {
  hold: Hold
  node: Node
  chain: readonly string[]
  /** Whether it is covered by the node's own hold. */
  inMemory: boolean
  /** What it was settled with, null while it is open or when it was released. */
  settledNano: number | null
  ended: boolean
}

interface World {
  random: Random
  store: Store
  accounts: readonly string[]
  nodes: Node[]
  grants: Grant[]
  result: ScheduleResult
  advance (ms: number): Promise<void>
  startNode (): Node
  nextId (): string
  /** Reservations that are neither granted nor refused. */
  waiting: number
  /** Whether requests come and go. */
  busy: boolean
}

const options = { chunkNano: 300, durableOverNano: 400, maxRequestMs: 60_000, recallMs: 500 }
const keep = { nodes: 4, waiting: 30 }

/**
 * Runs a random schedule of requests, crashes, lost answers, partitions and uneven clocks on up to four nodes
 * of one store, checks after every step that no account is overdrawn, and at the end that every request was
 * charged once, or went to suspense, or died with its node.
 */
export async function runSchedule (store: Store, seed: number, steps: number): Promise<ScheduleResult> {
  const world = await createWorld(store, seed)
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

async function createWorld (store: Store, seed: number): Promise<World> {
  const random = createRandom(seed)
  const network = createNetwork(store, () => {
    if (world.busy && random.next() < 0.1) random.weighted(requests)(world)
  })
  const time = createTime(network)
  const accounts = ['paying', 'team', 'budget'].map((name) => `${name}-${seed}`)
  const books = createAccounts(store)
  for (const id of accounts) {
    await books.create({ id })
    await books.deposit({ id: `start-${id}`, account: id, amountNano: random.integer(500, 20_000) })
  }
  await store.run(`
    insert into api_key (id, secret_sha256, account, label, created_at) values ($1, '', $2, '', 0)`,
  [`key-${seed}`, accounts[0] ?? ''])

  let started = 0
  let ids = 0
  const world: World = {
    random,
    store,
    accounts,
    nodes: [],
    grants: [],
    result: { granted: 0, refused: 0, crashes: 0, reclaimedTerms: 0, booked: 0, suspended: 0, lost: 0, faults: [] },
    advance: (ms) => time.advance(ms),
    busy: true,
    waiting: 0,
    nextId: () => `${seed}-r${++ids}`,
    startNode () {
      const clocks = time.clocksOf({ rate: 0.9 + random.next() * 0.2, offsetMs: random.integer(-5_000, 5_000) })
      const connection = network.connect()
      const id = `${seed}-${++started}`
      const presence = createBeatPresence(withDefaults(store.engine, options), clocks)
      const ledger = createLedger({ store: connection, nodeId: id, log: createLog(), ...clocks, presence, options })
      const node = { id, ledger, connection, alive: true, stop: clocks.stop }
      world.nodes.push(node)
      return node
    }
  }
  world.startNode()
  return world
}

function reserve (world: World): void {
  const { random, accounts, nodes, grants, result, nextId } = world
  const node = random.pick(nodes)
  if (node === undefined || world.waiting === keep.waiting) return
  const chain = accounts.slice(0, random.integer(1, accounts.length))
  const key = `key-${accounts[0]?.split('-')[1]}`
  const amountNano = random.next() < 0.1 ? random.integer(300, 3_000) : random.integer(1, 200)
  const durable = random.next() < 0.1
  const id = nextId()
  const asked = (async () => await node.ledger.reserve({ id, chain, key, amountNano, durable }))()
  const inMemory = !durable && amountNano <= options.durableOverNano
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
  const costNano = world.random.integer(0, grant.hold.amountNano)
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

async function changeWeather ({ random, nodes }: World): Promise<void> {
  const node = random.pick(nodes)
  if (node !== undefined) node.connection.weather = random.pick(['well', 'well', 'away', 'answer lost'] as const) ?? 'well'
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
      if (!/less than that is available/.test(String(error))) result.faults.push(String(error))
    })
  }
}

/** Lets all who live finish, and waits until what the dead have left is taken back. */
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

async function checkAccounts (world: World, when: string): Promise<void> {
  const { store, accounts, result } = world
  const rows = await store.all<{ id: string, nano: number }>(
    'select id, credits - spent - held as nano from account where id in ($1, $2, $3)', accounts)
  for (const { id, nano } of rows) if (nano < 0) result.faults.push(`${when}: ${id} is overdrawn by ${-nano}`)
  await checkCover(world, when)
}

/** What a node has granted from memory is never more than it holds; a node that was given up has no say in it. */
async function checkCover ({ store, accounts, nodes, grants, result }: World, when: string): Promise<void> {
  const rows = await store.all<{ owner: string, account: string, nano: number, reclaimed: number }>(`
    select owner, account, sum(case state when 0 then amount else 0 end) as nano, max(state) as reclaimed from hold
    where kind = 'node' and account in ($1, $2, $3) group by owner, account`, accounts)
  for (const { owner, account, nano, reclaimed } of rows) {
    if (reclaimed !== 0 || !nodes.some(({ id }) => id === owner)) continue
    const open = grants.filter(({ node, chain, inMemory, ended }) =>
      node.id === owner && inMemory && !ended && chain.includes(account))
    const openNano = open.reduce((sum, { hold }) => sum + hold.amountNano, 0)
    if (openNano > nano) result.faults.push(`${when}: ${owner} holds ${nano} of ${account} for ${openNano}`)
  }
}

async function checkEnd ({ store, accounts, grants, result }: World): Promise<void> {
  result.faults.push(...(await checkLedger(store)).map((violation) => JSON.stringify(violation)))
  const entries = await store.all<{ id: string, amount: number, kind: string }>(`
    select id, amount, kind from entry where kind in ('usage', 'suspense')`)
  const byHold = new Map(entries.map((entry) => [entry.id, entry]))
  const lost = new Map<Node, number>()
  for (const { hold, node, settledNano } of grants) {
    const entry = byHold.get(`usage:${hold.id}`)
    if ((entry?.amount ?? 0) > (settledNano ?? 0)) result.faults.push(`${hold.id} was charged ${entry?.amount}`)
    if (settledNano === null || settledNano === 0) continue
    if (entry?.kind === 'usage') result.booked++
    else if (entry?.kind === 'suspense') result.suspended++
    else lost.set(node, (lost.get(node) ?? 0) + settledNano)
    if (entry === undefined && node.alive) result.faults.push(`${hold.id} was settled and is in no book`)
    if (entry !== undefined && entry.amount !== settledNano) result.faults.push(`${hold.id} was booked in part`)
  }
  result.lost = [...lost.values()].reduce((sum, nano) => sum + nano, 0)
  for (const [node, nano] of lost) await checkLoss(store, node, nano, result)
  await checkNothingHeld(store, accounts, grants, result)
}

/** The dead take no more with them than was on hold for them. */
async function checkLoss (store: Store, { id }: Node, lostNano: number, { faults }: ScheduleResult): Promise<void> {
  const row = await store.get<{ nano: number }>(`
    select cast(coalesce(sum(amount), 0) as bigint) as nano from hold
    where owner = $1 and state in (0, 3) and account like 'paying-%'`, [id])
  if (lostNano > (row?.nano ?? 0)) faults.push(`${id} took ${lostNano} with it, and had ${row?.nano} on hold`)
}

async function checkNothingHeld (
  store: Store, accounts: readonly string[], grants: readonly Grant[], result: ScheduleResult
): Promise<void> {
  const reclaimed = await store.get<{ count: number }>(
    "select count(*) as count from hold where kind = 'node' and state = 3 and account = $1", [accounts[0] ?? ''])
  result.reclaimedTerms = reclaimed?.count ?? 0
  // What is durable waits for its own time, or for whoever goes on with the work.
  const open = await store.all<{ id: string }>(
    "select distinct id from hold where state = 0 and kind <> 'job' and account in ($1, $2, $3)", accounts)
  const known = new Set(grants.filter(({ node }) => !node.alive).map(({ hold }) => hold.id))
  for (const { id } of open) if (!known.has(id)) result.faults.push(`${id} is still held`)
}
