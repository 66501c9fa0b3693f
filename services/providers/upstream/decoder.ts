import { interceptors, type Dispatcher } from 'undici'
import type { UpstreamResponse } from './response.ts'

type Controller = Dispatcher.DispatchController
type Headers = UpstreamResponse['headers']

/**
 * Passes a response on to a handler: as it comes, or through undici's decoder if the server compresses it
 * without being asked. The decoder begins the request of the handler again, with a controller of its own.
 */
export class Decoding implements Dispatcher.DispatchHandler {
  #next: Dispatcher.DispatchHandler

  constructor (handler: Dispatcher.DispatchHandler) {
    this.#next = handler
  }

  onRequestStart (controller: Controller, context: unknown): void {
    this.#next.onRequestStart?.(controller, context)
  }

  onResponseStart (controller: Controller, status: number, headers: Headers): void {
    if (status >= 200 && !hasPlainBody(headers)) {
      this.#next = decoderFor(this.#next)
      this.#next.onRequestStart?.(controller, null)
    }
    this.#next.onResponseStart?.(controller, status, headers)
  }

  onResponseData (controller: Controller, chunk: Buffer): void {
    this.#next.onResponseData?.(controller, chunk)
  }

  onResponseEnd (controller: Controller, trailers: Headers): void {
    this.#next.onResponseEnd?.(controller, trailers)
  }

  onResponseError (controller: Controller, error: Error): void {
    this.#next.onResponseError?.(controller, error)
  }
}

/** `none` is what servers set that keep a proxy from compressing a stream. */
const plainEncodings = new Set(['', 'identity', 'none'])

/** Whether a body is not compressed. */
export function hasPlainBody (headers: Headers): boolean {
  const encoding = headers['content-encoding'] ?? ''
  return typeof encoding === 'string' && plainEncodings.has(encoding.trim().toLowerCase())
}

/**
 * Returns undici's decoder of compressed answers in front of a handler. Created only for such an answer: most
 * are plain, and undici warns that the decoder is experimental.
 */
function decoderFor (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let decoder = handler
  const capture = (_: Dispatcher.DispatchOptions, wrapped: Dispatcher.DispatchHandler): boolean => {
    decoder = wrapped
    return true
  }
  interceptors.decompress({ skipErrorResponses: false })(capture)({ method: 'GET', path: '/' }, handler)
  return decoder
}
