import { assertSafe } from '../../../shared/money.ts'
import { StoreUnavailable } from '../../../store/store.ts'
import type { NodeMembership } from '../cluster/node-membership.ts'
import type { Queue } from '../commit/queue.ts'
import type { Hold, Posting, Reservation } from '../ledger.ts'
import { grantFromMemory, reachNano, type Grant } from '../node-allowance.ts'
import type { LedgerOptions } from '../options.ts'
import { BoundedCharge, type SuspenseReason, isFree, type NodeContext, type OpenHold, type PendingReservation } from '../types.ts'
import { LateReservations } from './late-reservations.ts'

interface HoldsContext extends NodeContext {
  membership: NodeMembership
  queue: Queue
}

const maxChain = 8
const maxIdLength = 200

export type Holds = ReturnType<typeof createHolds>

/**
 * Creates the holds of this node, from memory where its allowances suffice, else by the next commit. When
 * other requests hold the money, a reservation waits for them. One factory, because opening and ending holds
 * share what is open.
 */
export function createHolds (context: HoldsContext) {
  const { store, membership, queue, options, monotonic, log } = context
  /** Fresh ones are only counted. */
  const known = new Map<string, Hold | Promise<Hold>>()
  let freshCount = 0
  let closing = false
  let closed = false

  const ends: HoldEnds = {
    settle (hold, charge, suspended) {
      drop(hold)
      if (closed) {
        const { posting } = charge
        log.error({ hold: hold.id, chain: hold.chain, posting }, 'a hold was settled after the ledger was closed')
        return Promise.resolve()
      }
      for (const allowance of hold.grant?.allowances ?? []) {
        allowance.inFlightNano -= hold.amountNano
        allowance.postedNano += charge.amountNano
      }
      const written = queue.settle(hold, charge, suspended)
      wake(hold, hold.amountNano - charge.amountNano)
      return written
    },

    release (hold) {
      drop(hold)
      if (isFree(hold)) return Promise.resolve()
      if (hold.grant === null) {
        if (closed) return Promise.resolve()
        const written = queue.settle(hold, null)
        wake(hold, hold.amountNano)
        return written
      }
      const { term, allowances } = hold.grant
      for (const allowance of allowances) {
        allowance.inFlightNano -= hold.amountNano
        term.dirty.add(allowance)
      }
      if (!closed) queue.touch()
      wake(hold, 0)
      return Promise.resolve()
    }
  }

  function wake ({ chain, grant }: OpenHold, restNano: number): void {
    // The rest of a hold from memory is in the allowance already.
    if (late.waitingCount > 0) late.wake(chain, grant === null ? restNano : 0)
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

  /** A free request needs no money, so its account is neither read nor locked. */
  function openFree (reservation: Reservation): Hold {
    const { id, chain, key, fresh = false } = reservation
    if (!fresh) return open(reservation, null, 0)
    freshCount++
    return new GrantedHold({ id, chain, key, amountNano: 0, grant: null, fresh }, ends)
  }

  function takeFromMemory ({ chain, amountNano }: Reservation, durable: PendingReservation['durable']): Grant | null {
    const { term } = membership
    const nowMs = monotonic()
    if (durable !== null || term === null || nowMs >= membership.grantUntilMs) return null
    return grantFromMemory(term, chain, amountNano, nowMs)
  }

  const late = new LateReservations({
    ...context,
    reachNano: (account) => membership.term === null ? 0 : reachNano(membership.term, account),
    takeFromMemory,
    open,
    refused: ({ id }) => known.delete(id)
  })

  return {
    reserve (reservation: Reservation): Hold | Promise<Hold> {
      const { id, chain, key, amountNano, fresh = false } = reservation
      const same = fresh ? undefined : known.get(id)
      if (same !== undefined) return same
      check(reservation)
      if (store.lost != null) throw store.lost
      if (closing) throw new StoreUnavailable(new Error('The ledger is closed'))
      if (queue.unflushed >= options.maxUnflushed) {
        throw new StoreUnavailable(new Error(`${queue.unflushed} settlements wait for the database`))
      }
      if (amountNano === 0) return openFree(reservation)
      const durable = durability(reservation, options, store.clock)
      const grant = late.contested(chain) === undefined ? takeFromMemory(reservation, durable) : null
      if (grant === null) {
        const granted = late.reserve(reservation, durable)
        known.set(id, granted)
        return granted
      }
      if (!fresh) return open(reservation, grant, amountNano)
      freshCount++
      return new GrantedHold({ id, chain, key, amountNano, grant, fresh }, ends)
    },

    forget (id: string): void {
      known.delete(id)
    },

    /** Refuses reservations that wait for money, from now on too. */
    refuseWaiting (error: Error): void {
      late.close(error)
    },

    /** Refuses new reservations; open holds may still end. */
    beginClose (): void {
      closing = true
      late.close(new StoreUnavailable(new Error('The ledger is closed')))
    },

    close (): void {
      closed = true
    },

    get count () { return known.size + freshCount },
    get waiting () { return late.waitingCount },
    askedNano: (account: string): number => late.awaitedNano(account)
  }
}

interface HoldEnds {
  settle (hold: OpenHold, charge: BoundedCharge, suspended?: SuspenseReason): Promise<void>
  release (hold: OpenHold): Promise<void>
}

/** Ends once; a class spares two closures per request. */
class GrantedHold implements Hold {
  readonly #hold: OpenHold
  readonly #ends: HoldEnds
  #ended: Promise<void> | null = null
  #chargedNano = 0

  constructor (hold: OpenHold, ends: HoldEnds) {
    this.#hold = hold
    this.#ends = ends
  }

  get id () { return this.#hold.id }

  get amountNano () { return this.#hold.amountNano }

  get chargedNano () { return this.#chargedNano }

  settle (posting: Posting): Promise<void> {
    if (this.#ended !== null) return this.#ended
    const charge = new BoundedCharge(this.#hold.amountNano, posting)
    this.#chargedNano = charge.amountNano
    this.#ended = this.#ends.settle(this.#hold, charge)
    return this.#ended
  }

  suspend (posting: Posting): Promise<void> {
    this.#ended ??= this.#ends.settle(this.#hold, new BoundedCharge(this.#hold.amountNano, posting), 'unverified')
    return this.#ended
  }

  release (): Promise<void> {
    this.#ended ??= this.#ends.release(this.#hold)
    return this.#ended
  }
}

function durability (
  { durable = false, expiresAt }: Reservation, { durableMs }: LedgerOptions, clock: () => number
): PendingReservation['durable'] {
  return durable ? { expiresAt: expiresAt ?? clock() + durableMs } : null
}

function check ({ id, chain, amountNano }: Reservation): void {
  if (assertSafe(amountNano) < 0) throw new RangeError(`A reservation cannot be negative: ${amountNano}`)
  if (id.length === 0 || id.length > maxIdLength) {
    throw new RangeError(`An id must have 1 to ${maxIdLength} characters: ${id.slice(0, maxIdLength)}`)
  }
  const isRepeating = chain.length > 1 && new Set(chain).size < chain.length
  if (chain.length === 0 || chain.length > maxChain || isRepeating) {
    throw new RangeError(`A chain must have 1 to ${maxChain} different accounts: ${chain.slice(0, maxChain)}`)
  }
}
