import { assertSafe } from '../../shared/money.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { createHold } from './hold.ts'
import type { HoldEnds } from './hold.ts'
import type { Lease } from '../cluster/node-membership.ts'
import type { Hold, Reservation } from '../ledger.ts'
import type { OpenHold, Take } from '../types.ts'
import type { LedgerOptions } from '../options.ts'
import type { Queue } from '../commit/queue.ts'
import { grant } from '../node-allowance.ts'
import type { Timers } from '../../shared/timers.ts'

interface ReservationsContext {
  lease: Lease
  queue: Queue
  ends: HoldEnds
  options: LedgerOptions
  timers: Timers
  clock: () => number
  monotonic: () => number
}

const maxChain = 8
const maxIdLength = 200
const deferMs = 50

/** The money that was reserved on this node and is neither settled nor released. */
export type Reservations = ReturnType<typeof createReservations>

/**
 * Creates the way from a reservation to its hold: through memory where that suffices, else through the
 * queue.
 */
export function createReservations (context: ReservationsContext) {
  const { lease, queue, ends, options, timers, clock, monotonic } = context
  const holds = new Map<string, Hold | Promise<Hold>>()
  let freshCount = 0
  let closed = false

  const endsAfter = (forget: (open: OpenHold) => void): HoldEnds => ({
    settle (open, posting) {
      forget(open)
      return ends.settle(open, posting)
    },
    release (open) {
      forget(open)
      return ends.release(open)
    }
  })
  const endsFresh = endsAfter(() => { freshCount-- })
  const endsKnown = endsAfter(({ id }) => { holds.delete(id) })

  function opened (open: OpenHold): Hold {
    const hold = createHold(open, endsKnown)
    holds.set(open.id, hold)
    return hold
  }

  function wait (reservation: Reservation, durable: Take['durable']): Promise<Hold> {
    if (queue.outage !== null) throw new StoreUnavailable(queue.outage)
    if (queue.waiting >= options.maxWaiting) {
      throw new StoreUnavailable(new Error(`${options.maxWaiting} reservations are waiting`))
    }
    const { id, chain, key, amountNano } = reservation
    const { promise, resolve, reject } = Promise.withResolvers<Hold>()
    const take: Take = {
      id,
      chain,
      key,
      amountNano,
      durable,
      giveUpAtMs: null,
      granted: (open) => resolve(opened(open)),
      refused (error) {
        holds.delete(id)
        // The database may have taken the hold all the same, and nobody is going to use it.
        if (durable?.kind === 'request' && error instanceof StoreUnavailable) {
          ends.release({ id, chain, key, amountNano, granted: null, fresh: false })
        }
        reject(error)
      },
      deferred: () => { timers.after(deferMs, () => queue.take(take)) }
    }
    holds.set(id, promise)
    queue.take(take)
    return promise
  }

  return {
    reserve (reservation: Reservation): Hold | Promise<Hold> {
      const { id, chain, key, amountNano, fresh = false } = reservation
      const known = fresh ? undefined : holds.get(id)
      if (known !== undefined) return known
      check(reservation)
      if (closed) throw new StoreUnavailable(new Error('The ledger is closed'))
      if (queue.unflushed >= options.maxUnflushed) {
        throw new StoreUnavailable(new Error(`${queue.unflushed} settlements wait for the database`))
      }
      const durable = durability(reservation, options, clock)
      const { term } = lease
      const nowMs = monotonic()
      if (durable === null && term !== null && nowMs < lease.grantUntilMs) {
        const shares = grant(term, chain, amountNano, nowMs)
        if (shares !== null) {
          const open = { id, chain, key, amountNano, granted: { term, shares }, fresh }
          if (!fresh) return opened(open)
          freshCount++
          return createHold(open, endsFresh)
        }
      }
      return wait(reservation, durable)
    },

    forget (id: string): void {
      holds.delete(id)
    },

    close (): void {
      closed = true
    },

    /** How many are open, those that wait for the database included. */
    get count () { return holds.size + freshCount }
  }
}

function durability (
  { amountNano, durable = false, expiresAt }: Reservation, options: LedgerOptions, clock: () => number
): Take['durable'] {
  if (durable) return { kind: 'job', expiresAt: expiresAt ?? clock() + options.durableMs }
  if (amountNano <= options.durableOverNano) return null
  return { kind: 'request', expiresAt: expiresAt ?? clock() + options.maxRequestMs + options.marginMs }
}

function check ({ id, chain, amountNano }: Reservation): void {
  if (assertSafe(amountNano) <= 0) throw new RangeError(`A reservation is positive: ${amountNano}`)
  if (id.length === 0 || id.length > maxIdLength) throw new RangeError(`Not an id: ${id.slice(0, maxIdLength)}`)
  const isRepeating = chain.length > 1 && new Set(chain).size < chain.length
  if (chain.length === 0 || chain.length > maxChain || isRepeating) {
    throw new RangeError(`Not a chain of 1 to ${maxChain} different accounts: ${chain.slice(0, maxChain)}`)
  }
}
