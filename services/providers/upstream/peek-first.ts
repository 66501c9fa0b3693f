/**
 * Waits for the first item of a sequence and returns the whole sequence. What the source throws before its
 * first item rejects here, while another provider can still be called. A reader that stops early ends the
 * source.
 */
export async function peekFirst<Item> (source: AsyncIterable<Item>): Promise<AsyncIterable<Item>> {
  const iterator = source[Symbol.asyncIterator]()
  let first: IteratorResult<Item> | null = await iterator.next()
  // Written out, because a generator around a generator costs more per item.
  const whole: AsyncIterator<Item> = {
    next () {
      if (first === null) return iterator.next()
      const result = first
      first = null
      return Promise.resolve(result)
    },
    return: async value => await iterator.return?.(value) ?? { done: true, value }
  }
  return { [Symbol.asyncIterator]: () => whole }
}
