/** The log of a service; a subset of pino's interface. */
export interface Log {
  info (details: object, message: string): void
  warn (details: object, message: string): void
  error (details: object, message: string): void
}

/** For callers without a log: Node's warnings. */
export const processWarnings: Log = {
  info: () => {},
  warn: (_details, message) => process.emitWarning(message),
  error: (details, message) => process.emitWarning(`${message} ${JSON.stringify(details)}`)
}
