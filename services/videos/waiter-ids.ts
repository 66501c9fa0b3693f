/**
 * Names of the clients that wait on one node, by which all nodes can tell whether a job's client is still
 * there.
 */
export interface Tickets {
  /** A ticket that is good until it is given back. */
  take (): string
  giveBack (ticket: string): void
  /** Whether a ticket of this node is good. */
  isGood (ticket: string): boolean
}

/** Creates the tickets of a node, whose id is their first word. */
export function createTickets (node: string): Tickets {
  const good = new Set<string>()
  let count = 0
  return {
    take () {
      const ticket = `${node} ${++count}`
      good.add(ticket)
      return ticket
    },
    giveBack: ticket => { good.delete(ticket) },
    isGood: ticket => good.has(ticket)
  }
}

/** The id of the node that a ticket is of. */
export function nodeOf (ticket: string): string {
  return ticket.split(' ', 1)[0] ?? ''
}
