/** Ids of the clients that wait on one node; all nodes can tell from one whether its client still waits. */
export interface WaiterIds {
  /** Returns a new id, which is valid until it is released. */
  acquire (): string
  release (waiterId: string): void
  /** Whether the client of an id of this node still waits. */
  isWaiting (waiterId: string): boolean
}

/** Creates the ids of a node, which begin with the node's id. */
export function createWaiterIds (node: string): WaiterIds {
  const waiting = new Set<string>()
  let count = 0
  return {
    acquire () {
      const waiterId = `${node} ${++count}`
      waiting.add(waiterId)
      return waiterId
    },
    release: waiterId => { waiting.delete(waiterId) },
    isWaiting: waiterId => waiting.has(waiterId)
  }
}

/** The node of a waiter id. */
export function nodeOf (waiterId: string): string {
  return waiterId.split(' ', 1)[0] ?? ''
}
