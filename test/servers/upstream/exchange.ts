import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const maxBodyBytes = 64 * 2 ** 20

export interface UpstreamRequest {
  /** From 0, in the order in which the requests' headers arrived. */
  readonly number: number
  readonly method: string
  /** Path and query as sent. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The parsed body; null when it is no JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null
  /** Whether the connection had carried a request before. */
  readonly reused: boolean
  /** Body bytes of the answer that were handed to the operating system, without chunk framing. */
  bytesSent: number
  /** Whether the client left before the answer was complete; final once `closed` is resolved. */
  aborted: boolean
  /** Resolves when the answer is complete or the connection has closed. */
  readonly closed: Promise<void>
}

/** How the upstream answers one request, or one step of that; runs after the body has been read. */
export type Script = (exchange: Exchange) => void | Promise<void>

export interface Exchange {
  readonly request: UpstreamRequest
  readonly response: ServerResponse
  /** Detaches the connection from HTTP, so that a close is not taken for the client's. */
  takeSocket (): Socket
}

const carriedRequest = new WeakSet<Socket>()

/** Reads the body of a request. */
export async function receive (
  incoming: IncomingMessage, response: ServerResponse, number: number
): Promise<Exchange> {
  const { socket, method = '', url: path = '', headers } = incoming
  const reused = carriedRequest.has(socket)
  carriedRequest.add(socket)
  let taken = false
  const gone = new Promise<void>((resolve) => response.once('close', resolve))
  const bytes = await bodyOf(incoming)
  const closed = gone.then(() => { request.aborted = !response.writableFinished && !taken })
  const request: UpstreamRequest = {
    number, method, path, headers, bytes, body: objectIn(bytes), reused, bytesSent: 0, aborted: false, closed
  }
  function takeSocket () {
    taken = true
    return socket
  }
  return { request, response, takeSocket }
}

async function bodyOf (incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of incoming) {
      bytes += piece.length
      if (bytes > maxBodyBytes) throw new RangeError(`a request body is larger than ${maxBodyBytes} bytes`)
      pieces.push(piece)
    }
  } catch (error) {
    // If a client disconnects during its upload, the partial body is recorded.
    if (!incoming.readableAborted) throw error
  }
  return Buffer.concat(pieces)
}

function objectIn (bytes: Buffer): UpstreamRequest['body'] {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

/** The client has left. */
export class PeerGone extends Error {}

/** Runs a script; throws if it leaves the request without an end. */
export async function play (script: Script, exchange: Exchange): Promise<void> {
  try {
    await script(exchange)
  } catch (error) {
    if (error instanceof PeerGone) return
    throw error
  }
  const { writableEnded, destroyed } = exchange.response
  if (!writableEnded && !destroyed) throw new Error(`a script left ${exchange.request.path} without an end`)
}
