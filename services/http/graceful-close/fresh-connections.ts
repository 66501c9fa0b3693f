import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How long a connection may take to bring its first byte before it counts as idle. */
const freshMs = 1000

/**
 * Makes a server spare the connections that were accepted just now when it closes idle ones: for Node.js they
 * are idle until something of their request has been read, and the client would see it lost.
 */
export function spareFreshConnections (server: Server): void {
  const acceptedMs = new Map<Socket, number>()
  server.on('connection', (socket: Socket) => {
    acceptedMs.set(socket, performance.now())
    socket.once('close', () => acceptedMs.delete(socket))
  })
  const closeIdle = server.closeIdleConnections.bind(server)
  // There is no list of the idle ones, so all of them stay until none is fresh: who closes them asks again.
  server.closeIdleConnections = () => {
    const sinceMs = performance.now() - freshMs
    for (const [socket, atMs] of acceptedMs) if (socket.bytesRead === 0 && atMs > sinceMs) return
    closeIdle()
  }
}
