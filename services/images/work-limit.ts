import { GatewayError } from '../shared/errors.ts'
import type { Exchange } from '../requests/exchange.ts'

/**
 * Aborts the work for a request at its deadline, when the gateway gives up the request, and at `abort`; not
 * when its client disconnects.
 */
export class WorkLimit {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #client: AbortSignal

  /** `maxMs`: the deadline of the operator. */
  constructor ({ signal, deadlineMs }: Pick<Exchange<unknown>, 'signal' | 'deadlineMs'>, maxMs: number) {
    const limitMs = Math.min(deadlineMs ?? Infinity, maxMs)
    this.#client = signal
    this.#timer = setTimeout(() => this.abort(GatewayError.deadlineExceeded(limitMs)), limitMs)
    signal.addEventListener('abort', this.#onAbort)
  }

  get signal (): AbortSignal { return this.#controller.signal }

  abort (reason: GatewayError): void { this.#controller.abort(reason) }

  /** Call once the work has ended. */
  stop (): void {
    clearTimeout(this.#timer)
    this.#client.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = (): void => {
    const { reason } = this.#client
    if (reason instanceof GatewayError) this.abort(reason)
  }
}

/** Resolves like `work`, or rejects with the reason of `signal` as soon as that aborts; `work` goes on. */
export async function unlessAborted<Result> (work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // It may reject after the abort, and Node.js ends a process for an unhandled rejection.
  work.catch(() => {})
  if (signal.aborted) throw signal.reason
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
