/** A member of a roster; `slot` belongs to the roster. */
export interface Enlisted { slot: number }

/**
 * The things that are going on right now, added and removed for every request. Not a `Set`: each time a set
 * makes room, V8 chains its old table to the new one, and through the chain every request that was in it
 * lives on until the next full collection, which doubled the cost of garbage collection.
 */
export class Roster<Member extends Enlisted> {
  readonly #members: Member[] = []

  get size (): number {
    return this.#members.length
  }

  add (member: Member): void {
    member.slot = this.#members.push(member) - 1
  }

  /** Removing what is not there changes nothing. */
  delete (member: Member): void {
    if (this.#members[member.slot] !== member) return
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    this.#members[member.slot] = last
    last.slot = member.slot
  }

  /** Calls `visit` with each member, which it may remove. */
  forEach (visit: (member: Member) => void): void {
    for (const member of this.#members.slice()) visit(member)
  }
}
