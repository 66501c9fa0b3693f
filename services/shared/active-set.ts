/** A member of an `ActiveSet`, which owns `slot`. */
export interface ActiveMember { slot: number }

/**
 * A set for members that come and go with every request. Not a `Set`: V8 links each table that a set outgrows
 * to the next one, which keeps all former members alive until a full garbage collection.
 */
export class ActiveSet<Member extends ActiveMember> {
  readonly #members: Member[] = []

  get size (): number {
    return this.#members.length
  }

  add (member: Member): void {
    member.slot = this.#members.push(member) - 1
  }

  /** Does nothing for an object that is not a member. */
  delete (member: Member): void {
    if (this.#members[member.slot] !== member) return
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    this.#members[member.slot] = last
    last.slot = member.slot
  }

  /** Calls `visit` with each member, which it may delete. */
  forEach (visit: (member: Member) => void): void {
    for (const member of this.#members.slice()) visit(member)
  }
}
