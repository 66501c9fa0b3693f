/** Lines of reservations in front of accounts, each in the order in which they came. */
export class WaitingLines<Item> {
  readonly #lines = new Map<string, Set<Item>>()
  #size = 0

  /** How many items are in all lines. */
  get size (): number { return this.#size }

  /** How many accounts have a line. */
  get count (): number { return this.#lines.size }

  add (account: string, item: Item): void {
    const line = this.#lines.get(account) ?? new Set()
    this.#lines.set(account, line.add(item))
    this.#size++
  }

  remove (account: string, item: Item): void {
    const line = this.#lines.get(account)
    if (line?.delete(item) !== true) return
    this.#size--
    if (line.size === 0) this.#lines.delete(account)
  }

  /** Returns the items of a line, the first one first; they may be removed meanwhile. */
  of (account: string): Item[] {
    return [...this.#lines.get(account) ?? []]
  }

  first (account: string): Item | undefined {
    return this.#lines.get(account)?.values().next().value
  }

  lengthOf (account: string): number {
    return this.#lines.get(account)?.size ?? 0
  }

  /** Returns the accounts that have a line. */
  accounts (): string[] {
    return [...this.#lines.keys()]
  }
}
