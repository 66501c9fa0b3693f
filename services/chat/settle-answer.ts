import type { ChatQuote } from '../billing/chat-quote.ts'
import { isAbandoned } from '../requests/drains.ts'
import type { Candidate } from '../requests/candidates.ts'
import type { Incoming } from '../requests/incoming.ts'
import type { RequestHold } from '../requests/request-hold.ts'
import type { StreamReport } from '../providers/report.ts'

/**
 * Charges what was delivered. Nothing is charged for a stream that the provider or a closing gateway ended
 * before its first text.
 */
export function settleAnswer (
  hold: RequestHold,
  { quote, by }: { quote: ChatQuote | null, by: Candidate | null },
  { trace, signal }: Pick<Incoming<unknown>, 'trace' | 'signal'>
): void {
  const { report, failure } = trace
  if (quote === null || report === null) return
  if (failure !== null && !isAbandoned(signal) && !hasOutput(report)) return
  trace.costNano = hold.settle(() => quote.chargeFor(report, by?.cost), trace.provider) ?? trace.costNano
}

/** Whether the provider has generated anything, as far as is known. */
function hasOutput ({ usage, isPartial, delivered, calls }: StreamReport): boolean {
  if (calls !== undefined) return calls.some(({ report }) => hasOutput(report))
  return (usage !== null && !isPartial) || delivered.countedTokens > 0 || !delivered.isEmpty
}
