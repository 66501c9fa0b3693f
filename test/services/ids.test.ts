import t from 'tap'
import { createIds } from '../../services/ids.ts'

t.test('ids grow as text, also when the clock stands still or is set back', async t => {
  const times = [5, 5, 5, 3, 3, 36 ** 8, 36 ** 8]
  const newId = createIds('h_', () => times.shift() ?? 0)
  const ids = Array.from({ length: 7 }, newId)
  t.same(ids, [...ids].sort())
  t.equal(new Set(ids).size, 7)
})

t.test('two processes never make the same', async t => {
  const [one, two] = [createIds('h_', () => 1), createIds('h_', () => 1)]
  t.not(one(), two())
})
