export type WaiterIds = ReturnType<typeof createWaiterIds>

/** Creates the ids of the clients that wait on a node; they begin with the node's id. */
export function createWaiterIds (node: string) {
  const waiting = new Set<string>()
  let count = 0
  return {
    /** Returns a new id, which is valid until it is released. */
    acquire (): string {
      const waiterId = `${node} ${++count}`
      waiting.add(waiterId)
      return waiterId
    },
    release (waiterId: string): void { waiting.delete(waiterId) },
    isWaiting: (waiterId: string): boolean => waiting.has(waiterId)
  }
}

/** The node of a waiter id. */
export function nodeOf (waiterId: string): string {
  return waiterId.split(' ', 1)[0] ?? ''
}
