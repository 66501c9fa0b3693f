import { connect, type Server, type Socket } from 'node:net'

/** Turns of the event loop in which nobody was accepted, after which nobody can be waiting. */
const quietTurns = 10

/**
 * Resolves when no connection waits to be accepted, or after `maxMs`; the listener has to be closed before
 * anything else is waited for. The system resets what waits when a listener closes, and a proxy cannot repeat
 * what it has sent by then. Since Node.js accepts one connection in each turn of its event loop, under load
 * some always wait. So from now on only one may; whoever else comes is not answered and tries again a second
 * later, as TCP does. In the end the one that waits is this process's own.
 */
export async function untilNobodyWaits (server: Server, maxMs: number): Promise<void> {
  const isNarrow = process.platform === 'linux' && narrow(server)
  const endMs = performance.now() + maxMs
  let quiet = 0
  let turn = Promise.withResolvers<void>()
  const onConnection = (): void => {
    quiet = -1
    turn.resolve()
  }
  server.on('connection', onConnection)
  // With a listener as wide as before, every further turn is one in which somebody may come.
  for (const enough = isNarrow ? quietTurns : 1; quiet < enough && performance.now() < endMs; quiet++) {
    if (isNarrow && await takesLastPlace(server)) break
    turn = Promise.withResolvers()
    setImmediate(turn.resolve)
    await turn.promise
  }
  server.off('connection', onConnection)
}

/** Lets only one connection wait. What Node.js offers for that is not public. */
function narrow (server: Server): boolean {
  const handle = handleOf(server)
  return typeof handle?.listen === 'function' && handle.listen(0) === 0
}

/**
 * Connects to the server, and tells whether that has succeeded at once, as it does where nobody else waits.
 */
async function takesLastPlace (server: Server): Promise<boolean> {
  const address = server.address()
  if (address === null || typeof address === 'string') return false
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address.address] ?? address.address
  const socket = connect({ host, port: address.port }).on('error', () => {})
  await new Promise<void>(resolve => process.nextTick(resolve))
  const isThere = handleOf(socket)?.getpeername?.({}) === 0
  if (isThere) setImmediate(() => socket.destroy())
  else socket.destroy()
  return isThere
}

interface Handle {
  listen? (backlog: number): number
  getpeername? (into: object): number
}

function handleOf (owner: Server | Socket): Handle | null {
  return (owner as { _handle?: Handle | null })._handle ?? null
}
