import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { createLedger } from '../../../../services/billing/ledger/create.ts'
import type { Hold, Ledger } from '../../../../services/billing/ledger/ledger.ts'
import { withDefaults } from '../../../../services/billing/ledger/options.ts'
import { createHeartbeatLiveness } from '../../../../services/billing/ledger/cluster/node-liveness.ts'
import type { Store } from '../../../../services/store/store.ts'
import { createLog } from './helper.ts'
import { createRandom } from './random.ts'
import type { Random } from './random.ts'
import { createNetwork, createTime } from './simulation.ts'
import type { NodeStore } from './simulation.ts'

/** A node, alive or not. */
export interface Node { id: string, ledger: Ledger, connection: NodeStore, alive: boolean, stop (): void }

/** What a reservation has brought. */
export interface Grant {
  hold: Hold
  node: Node
  chain: readonly string[]
  /** Whether it is covered by the node's own hold. */
  inMemory: boolean
  /** What it was settled with, null while it is open or when it was released. */
  settledNano: number | null
  ended: boolean
}

/** Everything there is in a schedule. */
export interface World {
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

/** What a schedule has seen, and what was wrong with it. */
export interface ScheduleResult {
  granted: number
  refused: number
  crashes: number
  releasedTerms: number
  booked: number
  suspended: number
  /** Settled on a node that died before it was written. */
  lost: number
  faults: string[]
}

/** Small, so that every limit is met. */
const options = { chunkNano: 300, heldWaitMs: 500 }
const requestMs = 60_000

/** Creates accounts and a first node. `interrupt` is called in the middle of transactions. */
export async function createWorld (
  open: (clock: () => number) => Promise<Store>, seed: number, interrupt: (world: World) => void
): Promise<World> {
  const random = createRandom(seed)
  const time = createTime()
  const store = await open(time.clock)
  const network = createNetwork(store, () => {
    if (world.busy && random.next() < 0.1) interrupt(world)
  })
  time.network = network
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
    result: { ...noResult, faults: [] },
    advance: (ms) => time.advance(ms),
    busy: true,
    waiting: 0,
    nextId: () => `${seed}-r${++ids}`,
    startNode () {
      const clocks = time.clocksOf({ rate: 0.9 + random.next() * 0.2 })
      const connection = network.connect()
      const id = `${seed}-${++started}`
      const liveness = createHeartbeatLiveness(withDefaults(store.engine, options), clocks.monotonic)
      const ledger = createLedger({
        store: connection,
        nodeId: id,
        log: createLog(),
        ...clocks,
        requestMs,
        liveness,
        options
      })
      const node = { id, ledger, connection, alive: true, stop: clocks.stop }
      world.nodes.push(node)
      return node
    }
  }
  world.startNode()
  return world
}

const noResult = {
  granted: 0, refused: 0, crashes: 0, releasedTerms: 0, booked: 0, suspended: 0, lost: 0
}
