import fc from 'fast-check'
import t from 'tap'
import { ActiveSet } from '../../../services/shared/timers.ts'

t.test('a active holds what was added and not removed, in any order of events', async t => {
  fc.assert(fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9))), steps => {
    const active = new ActiveSet<{ slot: number, name: number }>()
    const all = Array.from({ length: 10 }, (_, name) => ({ slot: -1, name }))
    const expected = new Set<number>()
    for (const [add, name] of steps) {
      const member = all[name]
      if (member === undefined || (add && expected.has(name))) continue
      if (add) active.add(member)
      else active.delete(member)
      if (add) expected.add(name)
      else expected.delete(name)
    }
    const seen: number[] = []
    active.forEach(member => {
      seen.push(member.name)
      active.delete(member)
    })
    t.same(seen.sort(), [...expected].sort())
    t.equal(active.size, 0)
  }), { numRuns: 100 })
})
