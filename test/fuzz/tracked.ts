/** A check of a property that can be awaited when fast-check has left it at its limit of time. */
export function tracked<Args extends unknown[]> (check: (...args: Args) => Promise<void>) {
  let last: Promise<void> = Promise.resolve()
  return {
    async check (...args: Args): Promise<void> {
      last = check(...args)
      await last
    },
    async end (): Promise<void> {
      await last
    }
  }
}
