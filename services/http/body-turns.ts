import { setImmediate as nextTurn } from 'node:timers/promises'

/** The key and the connection of a body. */
export interface BodySender { key: string, socket: { readonly destroyed: boolean } }

/** A key's large bodies leave others this many times as long as they take. */
const restFactor = 3

/**
 * Creates the turns of one process. The large bodies of a key take at most a quarter of the event loop, and
 * no two of them follow each other directly.
 */
export function createBodyTurns () {
  const last = new Map<string, Promise<void>>()
  /** Waits for the turn of the body, then runs `work` unless its client has left. Rejects as `work` does. */
  return async function inTurn ({ key, socket }: BodySender, work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = last.get(key)
    last.set(key, promise)
    await before
    // Joining the chunks has already used part of this turn of the event loop.
    await nextTurn()
    const startedMs = performance.now()
    try {
      if (!socket.destroyed) await work()
    } finally {
      setTimeout(() => {
        if (last.get(key) === promise) last.delete(key)
        resolve()
      }, restFactor * (performance.now() - startedMs))
    }
  }
}
