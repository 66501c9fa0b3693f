import fc from 'fast-check'
import t from 'tap'
import { createTurns } from '../../../../services/videos/runner/turns.ts'

type Path = readonly [string, string]
const all = (turns: ReturnType<typeof createTurns<string>>): string[] => {
  const taken: string[] = []
  for (let item = turns.take(); item !== undefined; item = turns.take()) taken.push(item)
  return taken
}

t.test('accounts take turns, and the keys of an account within its turns', async t => {
  const turns = createTurns<string>()
  for (const name of ['A1', 'A2', 'A3', 'A4', 'A5']) turns.add(['A', 'one'], name)
  for (const name of ['a1', 'a2']) turns.add(['A', 'two'], name)
  for (const name of ['B1', 'B2']) turns.add(['B', 'one'], name)
  t.equal(turns.size, 9)
  t.same(all(turns), ['A1', 'B1', 'a1', 'B2', 'A2', 'a2', 'A3', 'A4', 'A5'])
  t.equal(turns.size, 0)
})

t.test('an item waits once, and one that is deleted has no turn', async t => {
  const turns = createTurns<string>()
  for (const name of ['1', '2', '1', '3']) turns.add(['A', 'one'], name)
  turns.delete(['A', 'one'], '2')
  turns.delete(['A', 'one'], '2')
  turns.delete(['A', 'two'], '1')
  turns.delete(['B', 'one'], '1')
  t.equal(turns.size, 2)
  t.same(all(turns), ['1', '3'])
})

t.test('between two turns of a group no other has more than one, and a key is served in its order', async () => {
  const path = fc.tuple(fc.constantFrom('A', 'B', 'C'), fc.constantFrom('1', '2'))
  fc.assert(fc.property(fc.array(path, { maxLength: 60 }), paths => {
    const turns = createTurns<number>()
    paths.forEach((path, item) => turns.add(path, item))
    const taken: number[] = []
    for (let item = turns.take(); item !== undefined; item = turns.take()) taken.push(item)
    const groupOf = (item: number, levels: number) => (paths[item] as Path).slice(0, levels).join()
    const isFair = (levels: number, among: number[]) => among.every((item, at) => {
      const isNext = (other: number, index: number) =>
        index > at && groupOf(other, levels) === groupOf(item, levels)
      const next = among.findIndex(isNext)
      const between = among.slice(at + 1, next < 0 ? at + 1 : next).map(other => groupOf(other, levels))
      return new Set(between).size === between.length
    })
    const inOrder = (keys: number[]) => keys.every((item, at) => at === 0 || (keys[at - 1] ?? 0) < item)
    return taken.length === paths.length && isFair(1, taken) &&
      ['A', 'B', 'C'].every(account => isFair(2, taken.filter(item => groupOf(item, 1) === account))) &&
      [...new Set(paths.map(path => path.join()))]
        .every(key => inOrder(taken.filter(item => groupOf(item, 2) === key)))
  }))
})
