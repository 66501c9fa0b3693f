/** The log-odds of a share, which is clamped to 0.01 to 0.99. */
export function logOdds (share: number): number {
  const clamped = Math.max(0.01, Math.min(0.99, share))
  return Math.log(clamped / (1 - clamped))
}

/** The probability, 0 to 1, of log-odds. */
export function sigmoid (logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds))
}
