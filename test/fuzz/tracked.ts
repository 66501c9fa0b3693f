/** A check of a property that can be awaited when fast-check has left it at its limit of time. */
export function tracked<Args extends unknown[]> (check: (...args: Args) => Promise<void>) {
  let last: Promise<void> = Promise.resolve()
  let count = 0
  return {
    /** How many checks have begun. */
    get count () { return count },
    async check (...args: Args): Promise<void> {
      count++
      last = check(...args)
      await last
    },
    async end (): Promise<void> {
      await last
    }
  }
}
