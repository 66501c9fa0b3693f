import type { Ledger } from '../ledger/ledger.ts'
import type { Bill } from './image-price.ts'
import type { Payer } from './payer.ts'

/** A sale under way, its price held. `settle` or `cancel` ends it, whichever comes first. */
export interface ImageCharge {
  settle (bill: Bill): void
  /** Gives everything back: nothing was made. */
  cancel (): void
}

interface ChargeOptions {
  ledger: Ledger
  newId: () => string
  /** Hears of bookings that failed; the ledger tries them again by itself. */
  onError: (error: unknown) => void
}

interface Sale { payer: Payer, requestId: string, model: string, holdNano: number }

/**
 * Holds the price of a sale. Throws GatewayError 402 when the money does not suffice, StoreUnavailable when
 * the database cannot be asked.
 */
export async function openCharge (
  { payer, requestId, model, holdNano }: Sale, { ledger, newId, onError }: ChargeOptions
): Promise<ImageCharge> {
  if (holdNano === 0) return { settle () {}, cancel () {} }
  const { chain, key } = payer
  const hold = await ledger.reserve({ id: newId(), chain, key, amountNano: holdNano })
  return {
    settle: bill => { hold.settle({ ...bill, ref: requestId, model }).catch(onError) },
    cancel: () => { hold.release().catch(onError) }
  }
}
