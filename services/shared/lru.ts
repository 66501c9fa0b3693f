import { LRUCache } from 'lru-cache'

/** A cache with text keys that evicts the least recently used entry first. */
export type Lru<Value extends NonNullable<unknown>> = LRUCache<string, Value>

type Options<Value extends NonNullable<unknown>> = Pick<
  LRUCache.Options<string, Value, unknown>, 'ttl' | 'ttlResolution' | 'updateAgeOnGet' | 'perf'
>

/**
 * Creates a cache of at most `max` entries. It grows as it fills: lru-cache's `max` would allocate room for
 * all entries at once, which takes 0.7 ms for 10,000.
 */
export function createLru<Value extends NonNullable<unknown>> (
  max: number, options: Options<Value> = {}
): Lru<Value> {
  return new LRUCache<string, Value>({ ...options, maxSize: max, sizeCalculation: () => 1 })
}
