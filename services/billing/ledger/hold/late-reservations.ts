import { StoreUnavailable } from '../../../store/store.ts'
import type { Queue } from '../commit/queue.ts'
import { AccountLocked, FundsHeld } from '../errors.ts'
import type { Hold, Reservation } from '../ledger.ts'
import type { Grant } from '../node-allowance.ts'
import type { NodeContext, PendingReservation } from '../types.ts'
import { createWaiters, type Waiter } from './waiters.ts'

interface LateReservationsContext extends Pick<NodeContext, 'options' | 'timers' | 'monotonic'> {
  queue: Queue
  reachNano (account: string): number
  takeFromMemory (reservation: Reservation, durable: PendingReservation['durable']): Grant | null
  /** The hold of what was granted. */
  open (reservation: Reservation, grant: Grant | null, amountNano: number): Hold
  refused (reservation: Reservation): void
}

/** What is left of a deadline for the answer that the money is held. */
const answerMs = 100

/** Creates the reservations that are not granted at once: by the next commit, or when held money is free. */
export function createLateReservations (context: LateReservationsContext) {
  const { options, monotonic, queue, open, takeFromMemory, refused } = context
  const waiters = createWaiters(context)
  const asked = new Map<string, number>()
  let arrived = 0

  function count (chain: readonly string[], amountNano: number): void {
    for (const account of chain) {
      const nano = (asked.get(account) ?? 0) + amountNano
      if (nano === 0) asked.delete(account)
      else asked.set(account, nano)
    }
  }

  return {
    waiters,

    /** What is about to be held, in nano-USD by account. */
    asked: asked as ReadonlyMap<string, number>,

    /** Asks the database, or waits behind those that wait for the money of a `contested` account. */
    reserve (
      reservation: Reservation, durable: PendingReservation['durable'], contested: string | undefined
    ): Promise<Hold> {
      if (queue.outage !== null) throw new StoreUnavailable(queue.outage)
      if (queue.waiting >= options.maxWaiting) {
        throw new StoreUnavailable(new Error(`${options.maxWaiting} reservations are waiting`))
      }
      const { id, chain, key, amountNano, signal, dueMs = Infinity } = reservation
      const { promise, resolve, reject } = Promise.withResolvers<Hold>()
      const grant = (granted: Grant | null, heldNano: number): void => {
        count(chain, -amountNano)
        resolve(open(reservation, granted, heldNano))
      }
      const waiter: Waiter = {
        chain,
        amountNano,
        signal,
        order: arrived++,
        giveUpAtMs: Math.min(monotonic() + options.heldWaitMs, dueMs - answerMs),
        grantFromMemory () {
          const granted = takeFromMemory(reservation, durable)
          if (granted !== null) grant(granted, amountNano)
          return granted !== null
        },
        sendToDatabase: () => queue.reserve(pending),
        refuse (error) {
          count(chain, -amountNano)
          refused(reservation)
          reject(error)
        }
      }
      const pending: PendingReservation = {
        id,
        chain,
        key,
        amountNano,
        durable,
        granted (granted, heldNano) {
          grant(granted, heldNano)
          waiters.remove(waiter)
        },
        refused (error) {
          const passes = error instanceof FundsHeld || error instanceof AccountLocked
          if (passes && waiters.wait(waiter, error.account)) return
          waiters.remove(waiter)
          waiter.refuse(error)
        }
      }
      if (contested === undefined) queue.reserve(pending)
      else if (!waiters.wait(waiter, contested)) throw new FundsHeld(contested, amountNano)
      count(chain, amountNano)
      return promise
    }
  }
}
