import { setImmediate as nextTurn } from 'node:timers/promises'

/** Whose body it is: all requests of a key are one sender. */
export interface BodySender { key: string, socket: { readonly destroyed: boolean } }

/** A key's large bodies leave others this many times as long as they take. */
const restFactor = 3

/** Runs work on large bodies: those of a key one after another, with a rest after each. */
export type BodyTurns = ReturnType<typeof createBodyTurns>

/**
 * Creates the turns of one process. However many large bodies a key sends, and whatever becomes of its
 * requests, working on them takes at most a quarter of the event loop, and no two follow each other directly.
 */
export function createBodyTurns () {
  const last = new Map<string, Promise<void>>()
  /** Waits for the turn of the body, then runs `work` unless its client has left. Rejects as `work` does. */
  return async function inTurn ({ key, socket }: BodySender, work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = last.get(key)
    last.set(key, promise)
    await before
    // Joining the chunks of the body has taken some of this one.
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
