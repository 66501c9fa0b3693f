import type { OutgoingHttpHeaders } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { PeerGone, type Script } from './exchange.ts'

// Scripts that do one thing, to combine with `sequence`.

/** Runs scripts in order. */
export function sequence (...steps: Script[]): Script {
  return async (exchange) => {
    for (const step of steps) await step(exchange)
  }
}

/** Sends status and headers at once, ahead of any body. */
export function head (headers: OutgoingHttpHeaders = {}, status = 200): Script {
  return async ({ response }) => {
    response.writeHead(status, headers)
    response.flushHeaders()
    await setImmediate()
  }
}

/** Sends each piece of the body as its own TCP segment, with back-pressure. */
export function send (pieces: Iterable<Buffer>): Script {
  return async ({ request, response }) => {
    for (const piece of pieces) {
      if (response.destroyed) throw new PeerGone()
      const written = new Promise((resolve) => response.write(piece, resolve))
      await Promise.race([written, request.closed])
      request.bytesSent += piece.length
      await setImmediate()
    }
  }
}

/** Ends the body properly. */
export const finish: Script = ({ response }) => { response.end() }

/** Sends nothing more and keeps the connection open until the client disconnects. */
export const stall: Script = ({ request }) => request.closed

/** Resets the connection (RST). */
export const reset: Script = (exchange) => {
  exchange.takeSocket().resetAndDestroy()
  return exchange.request.closed
}

/** Closes the upstream's half of the connection (FIN) and reads on until the client closes the other half. */
export const halfClose: Script = (exchange) => {
  exchange.takeSocket().end()
  return exchange.request.closed
}

/** Closes the connection (FIN), even if the body is incomplete. */
export const hangUp: Script = (exchange) => {
  const socket = exchange.takeSocket()
  socket.end(() => socket.destroy())
  return exchange.request.closed
}
