import t from 'tap'
import { createLru } from '../../../services/shared/lru.ts'

t.test('the least recently used entry leaves first, and no more are kept than was said', async t => {
  const cache = createLru<number>(3)
  for (const [name, value] of [['a', 1], ['b', 2], ['c', 3]] as const) cache.set(name, value)
  t.equal(cache.get('a'), 1)
  cache.set('d', 4)
  t.same([...cache.keys()], ['d', 'a', 'c'])
  cache.set('d', 5)
  t.same([cache.size, cache.get('d')], [3, 5], 'an entry is replaced')
})

t.test('entries leave when their time is over, if they have one', async t => {
  let nowMs = 1
  const cache = createLru<number>(3, { ttl: 100, ttlResolution: 0, perf: { now: () => nowMs } })
  cache.set('a', 1)
  nowMs += 99
  t.equal(cache.get('a'), 1)
  nowMs += 2
  t.equal(cache.get('a'), undefined)
})
