import { AsyncLocalStorage } from 'node:async_hooks'

/** Receives an error that escaped from a plugin. */
export type OnEscaped = (error: unknown) => void

const running = new AsyncLocalStorage<OnEscaped>()

/** Runs the code of a plugin: what escapes from it, now or later, goes to `onEscaped`. */
export function runAttributed<Result> (onEscaped: OnEscaped, work: () => Result): Result {
  return running.run(onEscaped, work)
}

/** Runs the gateway's own code within that of a plugin, which is not to blame for it. */
export function runUnattributed<Result> (work: () => Result): Result {
  return running.exit(work)
}

let gateways = 0

/**
 * Keeps the process alive after a rejection without a handler, or an exception in a timer, that came from a
 * plugin; any other ends it, as without plugins. Returns the function that stops this.
 */
export function catchEscaped (): () => void {
  if (++gateways === 1) process.on('unhandledRejection', escape).on('uncaughtException', escape)
  return () => {
    if (--gateways === 0) process.off('unhandledRejection', escape).off('uncaughtException', escape)
  }
}

function escape (error: unknown): void {
  const onEscaped = running.getStore()
  if (onEscaped === undefined) throw error
  onEscaped(error)
}
