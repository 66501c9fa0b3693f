import t from 'tap'
import { createIds } from '../../../services/shared/ids.ts'

t.test('ids grow as text, within a process and from one to the next', async t => {
  const ids = [5, 6, 36 ** 8].flatMap(startedMs => {
    const newId = createIds('h_', () => startedMs)
    return Array.from({ length: 9_000 }, newId)
  })
  t.same(ids, [...ids].sort())
  t.equal(new Set(ids).size, 27_000)
})

t.test('two processes never make the same', async t => {
  const [one, two] = [createIds('h_', () => 1), createIds('h_', () => 1)]
  t.not(one(), two())
})

t.test('ids of any process are one word, so a double click selects them', async t => {
  for (let process = 0; process < 500; process++) t.match(createIds('job_')(), /^job_[0-9a-z]+$/)
})
