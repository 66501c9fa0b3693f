import type { Log } from '../../shared/log.ts'
import type { Store } from '../../store/store.ts'
import type { Poster, Receiver } from './post.ts'

/** A message whose next attempt is due. */
export interface DueMessage { id: string, body: string, attempts: number }

/** A table with the columns `id`, `body`, `attempts`, `next_attempt_at`, `delivered_at` and `last_error`. */
export interface Outbox<Due extends DueMessage> {
  table: 'alert' | 'webhook'
  /** What a message is called in the log, e.g. `an alert`. */
  name: string
  /** How many attempts a node makes at the same time, and how many of them for one group. */
  atOnce: number
  atOncePerGroup: number
  /** Messages of a group wait for each other alone. */
  groupOf (message: Due): string
  /** Returns at most `limit` messages that are due. */
  due (limit: number): Promise<Due[]>
}

interface DeliveryContext<Due extends DueMessage> {
  store: Store
  log: Log
  poster: Pick<Poster, 'post'>
  outbox: Outbox<Due>
}

/** Where a message goes. */
export type ReceiverOf<Due> = (message: Due) => Receiver | Promise<Receiver>

/** How the attempts of this node went. */
export interface DeliveryCounts { delivered: number, failed: number, givenUp: number }

const secondMs = 1_000
const hourMs = 3_600_000
/** The waits after failed attempts, as Standard Webhooks suggests; then the message is given up. */
const waitsMs = [5 * secondMs, 300 * secondMs, hourMs / 2, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs]
/** Longer than an attempt: after that, another node takes over the message of one that died meanwhile. */
const claimMs = 60_000

/**
 * Creates the delivery of the messages of a table: one attempt at a time for each, across all nodes. Its
 * functions are short, and share the map of the attempts that run here.
 */
export function createDelivery<Due extends DueMessage> (
  { store, log, poster, outbox }: DeliveryContext<Due>
) {
  const { table, name } = outbox
  const counts: DeliveryCounts = { delivered: 0, failed: 0, givenUp: 0 }
  const underWay = new Map<string, { group: string, done: Promise<void> }>()

  async function attempt (message: Due, receiverOf: ReceiverOf<Due>, signal: AbortSignal): Promise<void> {
    const { id, body, attempts } = message
    const claimed = await store.run(`
      update ${table} set attempts = attempts + 1, next_attempt_at = now_ms() + $3
      where id = $1 and attempts = $2 and next_attempt_at is not null`, [id, attempts, claimMs])
    if (claimed === 0) return
    try {
      const receiver = await receiverOf(message)
      await poster.post({ id, timestampS: Math.floor(store.clock() / secondMs), body }, receiver, signal)
    } catch (error) {
      await (signal.aborted ? takeBack(message) : fail(message, error))
      return
    }
    counts.delivered++
    await store.run(`
      update ${table} set delivered_at = now_ms(), next_attempt_at = null, last_error = null where id = $1`, [id])
  }

  async function fail ({ id, attempts }: Due, error: unknown): Promise<void> {
    const waitMs = waitsMs[attempts]
    counts.failed++
    if (waitMs === undefined) counts.givenUp++
    const reason = error instanceof Error ? error.message : String(error)
    // Only for this attempt: a node that hung for longer than its claim may be late.
    await store.run(`
      update ${table} set next_attempt_at = now_ms() + cast($2 as bigint), last_error = $3
      where id = $1 and attempts = $4 and delivered_at is null and next_attempt_at is not null`,
    [id, waitMs === undefined ? null : withJitter(waitMs), reason.slice(0, 500), attempts + 1])
    const details = { [table]: id, attempts: attempts + 1, err: error }
    if (waitMs === undefined) log.error(details, `${name} could not be delivered and is given up`)
    else log.warn(details, `${name} could not be delivered`)
  }

  /** An attempt that the closing node broke off does not count. */
  async function takeBack ({ id, attempts }: Due): Promise<void> {
    await store.run(`
      update ${table} set attempts = $2, next_attempt_at = now_ms()
      where id = $1 and attempts = $2 + 1 and delivered_at is null and next_attempt_at is not null`, [id, attempts])
  }

  function hasRoom (group: string): boolean {
    const same = [...underWay.values()].filter(other => other.group === group)
    return underWay.size < outbox.atOnce && same.length < outbox.atOncePerGroup
  }

  return {
    counts,
    /** Starts the attempts that are due and have room; resolves with those. Throws StoreUnavailable. */
    async start (receiverOf: ReceiverOf<Due>, signal: AbortSignal): Promise<Promise<void>[]> {
      if (underWay.size >= outbox.atOnce) return []
      const started: Promise<void>[] = []
      for (const message of await outbox.due(outbox.atOnce * 2)) {
        const group = outbox.groupOf(message)
        if (signal.aborted || underWay.has(message.id) || !hasRoom(group)) continue
        const done = attempt(message, receiverOf, signal)
          .catch(err => log.warn({ [table]: message.id, err }, `the delivery of ${name} could not be recorded`))
          .finally(() => underWay.delete(message.id))
        underWay.set(message.id, { group, done })
        started.push(done)
      }
      return started
    },
    /** Resolves when no attempt is under way. */
    async idle (): Promise<void> {
      await Promise.all([...underWay.values()].map(({ done }) => done))
    }
  }
}

/** Up to a tenth more, so that what failed together is not tried together. */
function withJitter (waitMs: number): number {
  return Math.round(waitMs * (1 + Math.random() / 10))
}
