/** Where the ledger tells the operator what no client hears of. */
export interface LedgerLog {
  info (details: object, message: string): void
  warn (details: object, message: string): void
  error (details: object, message: string): void
}

/** For callers without a log: what is wrong goes where Node's own warnings go. */
export const warnings: LedgerLog = {
  info: () => {},
  warn: (_details, message) => process.emitWarning(message),
  error: (details, message) => process.emitWarning(`${message} ${JSON.stringify(details)}`)
}
