/**
 * Waits for the first item, so that what fails before it fails here, with its true status, and may be
 * replaced by another. Returns the whole sequence; who stops reading it early ends the source.
 */
export async function started<Item> (
  source: AsyncGenerator<Item, void, undefined>
): Promise<AsyncIterable<Item>> {
  const first = await source.next()
  return resume(first, source)
}

async function * resume<Item> (
  first: IteratorResult<Item, void>, source: AsyncGenerator<Item, void, undefined>
): AsyncGenerator<Item, void, undefined> {
  if (first.done === true) return
  try {
    yield first.value
    yield * source
  } finally {
    await source.return()
  }
}
