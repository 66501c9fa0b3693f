import t from 'tap'
import { whereClause } from '../../../services/store/where-clause.ts'

t.test('a where clause has the conditions that have a value', async t => {
  const params = [100]
  const where = whereClause([['a = ?', 1], ['b = ?', undefined], ['(c = ? or d = ?)', 2]], params)
  t.equal(where, 'a = $2 and (c = $3 or d = $3)')
  t.same(params, [100, 1, 2])
})
