/** Numbers that look random and are the same again for the same seed. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next (): number
  /** From `min` to `max`, both included. */
  integer (min: number, max: number): number
  pick<T> (list: readonly T[]): T | undefined
  /** One of the second parts, each as often as its first part says. */
  weighted<T> (list: readonly (readonly [number, T])[]): T
}

/** Source: mulberry32, https://github.com/cprosche/mulberry32 */
export function createRandom (seed: number): Random {
  let state = seed >>> 0
  const random: Random = {
    next () {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = state
      mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
    integer: (min, max) => min + Math.floor(random.next() * (max - min + 1)),
    pick: (list) => list[Math.floor(random.next() * list.length)],
    weighted (list) {
      let left = random.next() * list.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, value] of list) {
        left -= weight
        if (left < 0) return value
      }
      throw new Error('nothing to choose from')
    }
  }
  return random
}
