import { assertSafe } from '../money.ts'
import type { Hold, Posting } from './ledger.ts'
import type { OpenHold } from './operations.ts'

/** Where the ends of holds go. */
export interface HoldEnds {
  settle (hold: OpenHold, posting: Posting): Promise<void>
  release (hold: OpenHold): Promise<void>
}

/** Creates a hold that can end once; ending it again gives the promise of the first time. */
export function createHold (open: OpenHold, ends: HoldEnds): Hold {
  let ended: Promise<void> | null = null
  return {
    id: open.id,
    amountNano: open.amountNano,
    settle (posting) {
      if (ended !== null) return ended
      if (assertSafe(posting.amountNano) < 0) throw new RangeError(`A request cannot cost ${posting.amountNano}`)
      ended = posting.amountNano === 0 ? ends.release(open) : ends.settle(open, posting)
      return ended
    },
    release () {
      ended ??= ends.release(open)
      return ended
    }
  }
}
