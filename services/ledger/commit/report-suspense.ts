import type { Log } from '../../shared/log.ts'
import type { Ledger } from '../ledger.ts'
import type { SuspenseReason } from '../types.ts'

interface SuspenseReportOptions { log: Log, counts: { overages: number, suspended: number } }

/** Creates the function that logs and counts what was booked to suspense, for which an operator decides. */
export function createSuspenseReport ({ log, counts }: SuspenseReportOptions): Ledger['reportSuspended'] {
  return entries => {
    for (const entry of entries) {
      const line = { ...entry, reqId: entry.ref }
      if (entry.reason === overHold) {
        counts.overages++
        log.warn(line, 'a request cost more than its hold; the excess is booked to suspense')
      } else {
        counts.suspended++
        log.error(line, 'a request cannot be charged and is booked to suspense')
      }
    }
  }
}

const overHold: SuspenseReason = 'over_hold'
