import { assertSafe } from '../../shared/money.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { NodeMembership } from '../cluster/node-membership.ts'
import type { Queue } from '../commit/queue.ts'
import type { Hold, Posting, Reservation } from '../ledger.ts'
import { grantFromMemory, type Grant } from '../node-allowance.ts'
import type { LedgerOptions } from '../options.ts'
import type { NodeContext, OpenHold, PendingReservation } from '../types.ts'

interface HoldsContext extends NodeContext {
  membership: NodeMembership
  queue: Queue
  counts: { overages: number }
}

const maxChain = 8
const maxIdLength = 200
const retryMs = 50

export type Holds = ReturnType<typeof createHolds>

/** Creates the holds of this node, from memory where its allowances suffice, else by the next commit. */
export function createHolds (context: HoldsContext) {
  const { membership, queue, options, timers, clock, monotonic, log, counts } = context
  /** Fresh ones are only counted. */
  const known = new Map<string, Hold | Promise<Hold>>()
  let freshCount = 0
  let closing = false
  let closed = false

  const ends: HoldEnds = {
    settle (hold, posting) {
      drop(hold)
      const { amountNano } = posting
      if (amountNano > hold.amountNano) counts.overages++
      if (closed) {
        log.error({ hold: hold.id, chain: hold.chain, posting }, 'a hold was settled after the ledger was closed')
        return Promise.resolve()
      }
      for (const allowance of hold.grant?.allowances ?? []) {
        allowance.inFlightNano -= hold.amountNano
        allowance.postedNano += amountNano
      }
      return queue.settle(hold, posting)
    },

    release (hold) {
      drop(hold)
      if (hold.grant === null) return closed ? Promise.resolve() : queue.settle(hold, null)
      const { term, allowances } = hold.grant
      for (const allowance of allowances) {
        allowance.inFlightNano -= hold.amountNano
        term.dirty.add(allowance)
      }
      if (!closed) queue.touch()
      return Promise.resolve()
    }
  }

  function drop ({ id, fresh }: OpenHold): void {
    if (fresh) freshCount--
    else known.delete(id)
  }

  function open ({ id, chain, key }: Reservation, grant: Grant | null, amountNano: number): Hold {
    const hold = new GrantedHold({ id, chain, key, amountNano, grant, fresh: false }, ends)
    known.set(id, hold)
    return hold
  }

  function reserveInDatabase (reservation: Reservation, durable: PendingReservation['durable']): Promise<Hold> {
    if (queue.outage !== null) throw new StoreUnavailable(queue.outage)
    if (queue.waiting >= options.maxWaiting) {
      throw new StoreUnavailable(new Error(`${options.maxWaiting} reservations are waiting`))
    }
    const { id, chain, key, amountNano } = reservation
    const { promise, resolve, reject } = Promise.withResolvers<Hold>()
    const pending: PendingReservation = {
      id,
      chain,
      key,
      amountNano,
      durable,
      giveUpAtMs: null,
      granted: (grant, heldNano) => resolve(open(reservation, grant, heldNano)),
      refused (error) {
        known.delete(id)
        // The database may have stored the hold all the same, and nothing is going to use it.
        if (durable?.kind === 'request' && error instanceof StoreUnavailable) {
          ends.release({ id, chain, key, amountNano, grant: null, fresh: false })
        }
        reject(error)
      },
      retry: () => { timers.after(retryMs, () => queue.reserve(pending)) }
    }
    known.set(id, promise)
    queue.reserve(pending)
    return promise
  }

  return {
    reserve (reservation: Reservation): Hold | Promise<Hold> {
      const { id, chain, key, amountNano, fresh = false } = reservation
      const same = fresh ? undefined : known.get(id)
      if (same !== undefined) return same
      check(reservation)
      if (closing) throw new StoreUnavailable(new Error('The ledger is closed'))
      if (queue.unflushed >= options.maxUnflushed) {
        throw new StoreUnavailable(new Error(`${queue.unflushed} settlements wait for the database`))
      }
      const durable = durability(reservation, options, clock)
      const { term } = membership
      const nowMs = monotonic()
      if (durable === null && term !== null && nowMs < membership.grantUntilMs) {
        const grant = grantFromMemory(term, chain, amountNano, nowMs)
        if (grant !== null) {
          if (!fresh) return open(reservation, grant, amountNano)
          freshCount++
          return new GrantedHold({ id, chain, key, amountNano, grant, fresh }, ends)
        }
      }
      return reserveInDatabase(reservation, durable)
    },

    forget (id: string): void {
      known.delete(id)
    },

    /** Refuses new reservations; open holds may still end. */
    beginClose (): void {
      closing = true
    },

    close (): void {
      closed = true
    },

    get count () { return known.size + freshCount }
  }
}

interface HoldEnds {
  settle (hold: OpenHold, posting: Posting): Promise<void>
  release (hold: OpenHold): Promise<void>
}

/** Ends once; a class spares two closures per request. */
class GrantedHold implements Hold {
  readonly #hold: OpenHold
  readonly #ends: HoldEnds
  #ended: Promise<void> | null = null

  constructor (hold: OpenHold, ends: HoldEnds) {
    this.#hold = hold
    this.#ends = ends
  }

  get id () { return this.#hold.id }

  get amountNano () { return this.#hold.amountNano }

  settle (posting: Posting): Promise<void> {
    if (this.#ended !== null) return this.#ended
    if (assertSafe(posting.amountNano) < 0) throw new RangeError(`A request cannot cost ${posting.amountNano}`)
    if (posting.amountNano === 0) return this.release()
    this.#ended = this.#ends.settle(this.#hold, posting)
    return this.#ended
  }

  release (): Promise<void> {
    this.#ended ??= this.#ends.release(this.#hold)
    return this.#ended
  }
}

function durability (
  { amountNano, durable = false, expiresAt }: Reservation, options: LedgerOptions, clock: () => number
): PendingReservation['durable'] {
  if (durable) return { kind: 'job', expiresAt: expiresAt ?? clock() + options.durableMs }
  if (amountNano <= options.durableOverNano) return null
  return { kind: 'request', expiresAt: expiresAt ?? clock() + options.maxRequestMs + options.marginMs }
}

function check ({ id, chain, amountNano }: Reservation): void {
  if (assertSafe(amountNano) <= 0) throw new RangeError(`A reservation must be positive, not ${amountNano}`)
  if (id.length === 0 || id.length > maxIdLength) {
    throw new RangeError(`An id must have 1 to ${maxIdLength} characters: ${id.slice(0, maxIdLength)}`)
  }
  const isRepeating = chain.length > 1 && new Set(chain).size < chain.length
  if (chain.length === 0 || chain.length > maxChain || isRepeating) {
    throw new RangeError(`A chain must have 1 to ${maxChain} different accounts: ${chain.slice(0, maxChain)}`)
  }
}
