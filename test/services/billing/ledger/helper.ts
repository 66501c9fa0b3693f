import type { Test } from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { checkLedger } from '../../../../services/billing/ledger/check/check-books.ts'
import { createLedger } from '../../../../services/billing/ledger/create.ts'
import type { LedgerContext } from '../../../../services/billing/ledger/create.ts'
import { withDefaults } from '../../../../services/billing/ledger/options.ts'
import { createHeartbeatLiveness } from '../../../../services/billing/ledger/cluster/node-liveness.ts'
import { BoundedCharge } from '../../../../services/billing/ledger/types.ts'
import type { Hold, Ledger, Posting, Reservation } from '../../../../services/billing/ledger/ledger.ts'
import type { Log } from '../../../../services/shared/log.ts'
import type { Store } from '../../../../services/store/store.ts'
import type { Database } from '../../../helpers/engines.ts'
import { createNetwork, createTime, type SimulatedTime } from './simulation.ts'

/** A log that is kept: messages by their level. */
export interface KeptLog extends Log { lines: { level: string, message: string, details: object }[] }

export function createLog (): KeptLog {
  const lines: KeptLog['lines'] = []
  const at = (level: string) => (details: object, message: string) => {
    lines.push({ level, message, details })
  }
  return { lines, info: at('info'), warn: at('warn'), error: at('error') }
}

/** Creates accounts with their credits, and a key of the first one. */
export async function createBooks (store: Store, credits: Record<string, number>, key = 'key'): Promise<void> {
  const accounts = createAccounts(store)
  for (const [id, amountNano] of Object.entries(credits)) {
    await accounts.create({ id })
    if (amountNano > 0) await accounts.deposit({ id: `deposit-${id}`, account: id, amountNano })
  }
  const [first = ''] = Object.keys(credits)
  await store.run(`
    insert into api_key (id, secret_sha256, account, label, created_at) values ($2, '', $1, 'a key', 0)`, [first, key])
}

/** A ledger with the wall's own time, closed when the test ends unless it was before. */
export function startLedger (t: Test, store: Store, more: Partial<LedgerContext> = {}) {
  const log = createLog()
  const ledger = createLedger({ store, log, ...more })
  t.teardown(() => ledger.close())
  return { ledger, log }
}

/** A store with accounts, and nodes on it in a time of their own. */
export async function createCluster (database: Database, credits: Record<string, number>) {
  const time = createTime()
  const store = await database.open(time.clock)
  await createBooks(store, credits)
  return { store, time, ...createNodes(store, time) }
}

/** Nodes of a store that was opened with the clock of the given time. */
export function createNodes (store: Store, time: SimulatedTime) {
  const network = createNetwork(store)
  time.network = network
  return {
    network,
    /** Starts a node that others know only by its heartbeat. */
    node (nodeId: string, { rate = 1, requestMs = 600_000, ...options }: NodeOptions = {}) {
      const clocks = time.clocksOf({ rate })
      const connection = network.connect()
      const log = createLog()
      const liveness = createHeartbeatLiveness(withDefaults(store.engine, options), clocks.monotonic)
      const ledger = createLedger({
        store: connection, nodeId, log, ...clocks, requestMs, liveness, options
      })
      const crash = () => {
        clocks.stop()
        connection.weather = 'away'
      }
      return { ledger, log, connection, crash }
    }
  }
}

type NodeOptions = NonNullable<LedgerContext['options']> & { rate?: number, requestMs?: number }

let count = 0

/** A reservation of the account `acme` with an id of its own. */
export function reservation (amountNano: number, more: Partial<Reservation> = {}): Reservation {
  return { id: `r${++count}`, chain: ['acme'], key: 'key', amountNano, ...more }
}

export function posting (amountNano: number, more: Partial<Posting> = {}): Posting {
  return { amountNano, ref: 'req', model: 'a/model', usage: { prompt: 1 }, estimated: false, ...more }
}

/** A cost, charged to a hold of 100 nano-USD unless said otherwise. */
export function charge (amountNano: number, heldNano = 100): BoundedCharge {
  return new BoundedCharge(heldNano, posting(amountNano))
}

/** Reserves and settles at once, and waits until that is on disk. */
export async function spend (
  ledger: Ledger, heldNano: number, spentNano: number, more: Partial<Reservation> = {}
): Promise<void> {
  const hold: Hold = await ledger.reserve(reservation(heldNano, more))
  await hold.settle(posting(spentNano))
}

/** The account as the database has it. */
export async function rowOf (store: Store, account = 'acme') {
  return await store.get<{ credits: number, spent: number, held: number }>(
    'select credits, spent, held from account where id = $1', [account])
}

/** Asserts that the books agree with themselves. */
export async function assertBooks (t: Test, store: Store): Promise<void> {
  t.same(await checkLedger(store), [])
}
