import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { setImmediate as afterPoll, setTimeout as sleep } from 'node:timers/promises'

/** How long no connection must have come, and when the first moment without one is enough. */
const quietMs = 25
const patienceMs = 250
/** Node.js takes 0 for its default, so this is the smallest. */
const smallestBacklog = 1

/**
 * Closes the handle of a listener when no connection waits to be accepted, because the system resets those
 * that wait; resolves when the connections accepted meanwhile have ended. Under load some always wait, so a
 * second listener takes over the handle, with a backlog so small that further clients try again a second
 * later, as TCP does. It serves no connection before the end, because the client would come again at once.
 */
export async function stopListening (listener: Server): Promise<void> {
  const held: Socket[] = []
  let lastMs = performance.now()
  const successor = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, socket => {
    lastMs = performance.now()
    held.push(socket)
  })
  successor.listen(listener, smallestBacklog)
  await once(successor, 'listening')
  const patientUntilMs = performance.now() + patienceMs
  for (let before = -1; performance.now() - lastMs < quietMs; before = held.length) {
    if (performance.now() > patientUntilMs && held.length === before) break
    await sleep(1)
    // The event loop has just looked for connections.
    await afterPoll()
  }
  const closed = once(successor, 'close')
  successor.close()
  for (const socket of held) {
    listener.emit('connection', socket)
    socket.resume()
  }
  await closed
}
