/** Providers round each request in their own way. */
const roundingNano = 1_000

/**
 * Whether the reported cost of some requests is not the expected one, give or take a share of the larger.
 * Both are in nano-USD.
 */
export function isCostMismatch (
  { expectedNano, reportedNano }: { expectedNano: number, reportedNano: number },
  tolerance: number,
  requests = 1
): boolean {
  const differenceNano = Math.abs(reportedNano - expectedNano)
  return differenceNano > Math.max(roundingNano * requests, tolerance * Math.max(expectedNano, reportedNano))
}
