import { UpstreamError } from '../../../shared/errors.ts'
import { StoreUnavailable } from '../../../store/store.ts'
import type { Queue } from '../commit/queue.ts'
import { AccountLocked, FundsHeld } from '../errors.ts'
import type { Hold, Reservation } from '../ledger.ts'
import type { Grant } from '../node-allowance.ts'
import type { NodeContext, PendingReservation } from '../types.ts'
import { WaitingLines } from './waiting-lines.ts'

interface LateReservationsContext extends Pick<NodeContext, 'options' | 'timers' | 'monotonic'> {
  queue: Queue
  /** About what this node could hold of an account now, in nano-USD. */
  reachNano (account: string): number
  takeFromMemory (reservation: Reservation, durable: PendingReservation['durable']): Grant | null
  /** Opens the hold of a grant. */
  open (reservation: Reservation, grant: Grant | null, amountNano: number): Hold
  /** Called before a reservation is rejected. */
  refused (reservation: Reservation): void
}

interface LateReservation {
  readonly reservation: Reservation
  readonly durable: PendingReservation['durable']
  readonly hold: PromiseWithResolvers<Hold>
  readonly pending: PendingReservation
  readonly onAbort: () => void
  /** Monotonic clock. */
  readonly giveUpAtMs: number
  askedAtMs: number
  state: 'asking' | 'waiting'
  /** The account in whose line it is; null before it has waited. */
  account: string | null
}

/** The part of a deadline that is left to send the 429. */
const responseMs = 100
/** How often the first of each line asks the database, because money also comes from other processes. */
const askEveryMs = 50

/**
 * The reservations that this node's allowances do not cover. The next commit decides about each of them.
 * While other requests hold the money, or another transaction locks the account, a reservation waits in the
 * line of that account, first come, first served: a small one does not pass a large one.
 *
 *     reserve ─────────────▶ asking ──── granted by the commit ───▶ hold
 *        │                    │  ▲
 *        │    held or locked  │  │  the first of its line: money was freed, or 50 ms
 *        │                    ▼  │  have passed; any: its time is over
 *        └── has a line ─▶ waiting ───── granted from memory ─────▶ hold
 *
 * It is rejected while asking by any other error, and by a lack of money once its time is over; while
 * waiting, when its client leaves or the gateway stops; and at once when too many wait.
 */
export class LateReservations {
  readonly #context: LateReservationsContext
  readonly #lines = new WaitingLines<LateReservation>()
  /** The sum of all amounts, in nano-USD by account. */
  readonly #asked = new Map<string, number>()
  #cancelTick: (() => void) | null = null
  #isClosed = false

  constructor (context: LateReservationsContext) {
    this.#context = context
  }

  /** How many are in a line. */
  get waitingCount (): number { return this.#lines.size }

  /** Returns what is about to be held of an account, in nano-USD. */
  awaitedNano (account: string): number {
    return this.#asked.get(account) ?? 0
  }

  /** Returns the first account of a chain that has a line. */
  contested (chain: readonly string[]): string | undefined {
    return this.#lines.size === 0 ? undefined : chain.find(account => this.#lines.lengthOf(account) > 0)
  }

  /** Throws FundsHeld when too many wait, and StoreUnavailable. */
  reserve (reservation: Reservation, durable: PendingReservation['durable']): Promise<Hold> {
    const { queue, options } = this.#context
    if (queue.outage !== null) throw new StoreUnavailable(queue.outage)
    if (queue.waiting >= options.maxWaiting) {
      throw new StoreUnavailable(new Error(`${options.maxWaiting} reservations are waiting`))
    }
    const late = this.#create(reservation, durable)
    const contested = this.contested(reservation.chain)
    if (contested === undefined) this.#ask(late)
    else if (!this.#wait(late, contested)) throw new FundsHeld(contested, reservation.amountNano)
    this.#count(reservation, reservation.amountNano)
    return late.hold.promise
  }

  /** A hold of the chain has ended; `freedNano` is what only the next commit frees. */
  wake (chain: readonly string[], freedNano: number): void {
    for (const account of chain) this.#serve(account, freedNano)
  }

  /** Rejects all that wait, and lets none wait from now on. */
  close (error: Error): void {
    this.#isClosed = true
    for (const account of this.#lines.accounts()) {
      for (const late of this.#lines.of(account)) if (late.state === 'waiting') this.#refuse(late, error)
    }
  }

  #create (reservation: Reservation, durable: PendingReservation['durable']): LateReservation {
    const { options, monotonic } = this.#context
    const { id, chain, key, amountNano, dueMs = Infinity } = reservation
    const late: LateReservation = {
      reservation,
      durable,
      hold: Promise.withResolvers(),
      pending: {
        id,
        chain,
        key,
        amountNano,
        durable,
        granted: (grant, heldNano) => this.#grant(late, grant, heldNano),
        refused: error => this.#decided(late, error)
      },
      onAbort: () => {
        if (late.state === 'asking') return
        const message = 'The request was aborted while waiting for held money.'
        this.#refuse(late, new UpstreamError('aborted', 'no', message))
      },
      giveUpAtMs: Math.min(monotonic() + options.heldWaitMs, dueMs - responseMs),
      askedAtMs: monotonic(),
      state: 'waiting',
      account: null
    }
    return late
  }

  #ask (late: LateReservation): void {
    late.state = 'asking'
    late.askedAtMs = this.#context.monotonic()
    this.#context.queue.reserve(late.pending)
  }

  #decided (late: LateReservation, error: unknown): void {
    late.state = 'waiting'
    const passes = error instanceof FundsHeld || error instanceof AccountLocked
    if (!passes || !this.#wait(late, error.account)) this.#refuse(late, error)
  }

  /** Returns false if it may not wait, or no longer. */
  #wait (late: LateReservation, account: string): boolean {
    const { options, monotonic, timers } = this.#context
    const { reservation: { signal }, giveUpAtMs } = late
    if (this.#isClosed || signal?.aborted === true || monotonic() >= giveUpAtMs) return false
    if (late.account === account) return true
    if (late.account === null) {
      if (this.#lines.size >= options.maxWaitingForMoney) return false
      if (this.#lines.lengthOf(account) >= options.maxWaitingForAccount) return false
      signal?.addEventListener('abort', late.onAbort)
    } else {
      this.#lines.remove(late.account, late)
    }
    late.account = account
    this.#lines.add(account, late)
    this.#cancelTick ??= timers.after(askEveryMs, () => this.#tick())
    return true
  }

  #grant (late: LateReservation, grant: Grant | null, heldNano: number): void {
    this.#end(late)
    late.hold.resolve(this.#context.open(late.reservation, grant, heldNano))
    if (late.account !== null) this.#serve(late.account, 0)
  }

  #refuse (late: LateReservation, error: unknown): void {
    this.#end(late)
    this.#context.refused(late.reservation)
    late.hold.reject(error)
    if (late.account !== null) this.#serve(late.account, 0)
  }

  #end (late: LateReservation): void {
    const { reservation, account } = late
    this.#count(reservation, -reservation.amountNano)
    if (account === null) return
    reservation.signal?.removeEventListener('abort', late.onAbort)
    this.#lines.remove(account, late)
    if (this.#lines.size > 0) return
    this.#cancelTick?.()
    this.#cancelTick = null
  }

  /** Attempts the first of a line, and the next ones as long as memory grants them. */
  #serve (account: string, freedNano: number): void {
    const first = this.#lines.first(account)
    if (first === undefined || first.state === 'asking' || this.#isClosed) return
    const { reservation, durable } = first
    const grant = this.#context.takeFromMemory(reservation, durable)
    if (grant !== null) return this.#grant(first, grant, reservation.amountNano)
    // Not more than one a millisecond, however many accounts are short.
    const isDue = this.#context.monotonic() - first.askedAtMs >= Math.max(askEveryMs, this.#lines.count)
    if (isDue || this.#context.reachNano(account) + freedNano >= reservation.amountNano) this.#ask(first)
  }

  #tick (): void {
    const { timers, monotonic } = this.#context
    this.#cancelTick = timers.after(askEveryMs, () => this.#tick())
    const nowMs = monotonic()
    for (const account of this.#lines.accounts()) {
      this.#serve(account, 0)
      for (const late of this.#lines.of(account)) {
        if (late.state === 'waiting' && late.giveUpAtMs <= nowMs) this.#ask(late)
      }
    }
  }

  #count ({ chain }: Reservation, amountNano: number): void {
    for (const account of chain) {
      const nano = this.awaitedNano(account) + amountNano
      if (nano === 0) this.#asked.delete(account)
      else this.#asked.set(account, nano)
    }
  }
}
