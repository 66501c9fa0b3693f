import type { Server, Socket } from 'node:net'

/** A connection without its first byte for this long counts as idle. */
const freshMs = 1000

/**
 * Returns whether a connection of the server was just accepted and has received nothing yet. Node.js
 * counts such a connection as idle, and a client whose request is on its way would see it reset.
 */
export function watchFreshConnections (server: Server): () => boolean {
  const acceptedMs = new Map<Socket, number>()
  server.on('connection', (socket: Socket) => {
    acceptedMs.set(socket, performance.now())
    socket.once('close', () => acceptedMs.delete(socket))
  })
  return () => {
    const sinceMs = performance.now() - freshMs
    return acceptedMs.entries().some(([socket, atMs]) => socket.bytesRead === 0 && atMs > sinceMs)
  }
}
