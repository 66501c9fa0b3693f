import { SourceMap } from 'node:module'
import t from 'tap'
import { linesOnly } from '../../bin/line-map.ts'

const sourceMap = (mappings: string) => new SourceMap({
  version: 3, file: 'out.js', sources: ['a.ts', 'b.ts'], sourcesContent: [], names: [], mappings, sourceRoot: ''
})

t.test('a map of lines names the same line of the same source for each place', async t => {
  // By columns: a.ts 1 at 0 and 4, 2 at 8, nothing at 10, 1 at 12; then b.ts 1,001 at 0 and 40, a.ts 3 at 42.
  const mappings = 'AAAAA,IAAI,IACJ,E,EADA;ACw+BEA,wCAAE,EDv+BF'
  const lines = linesOnly(mappings)
  t.equal(lines.split(/[,;]/).length, 5)
  for (const [line, columns] of [[0, [0, 4, 8, 12]], [1, [0, 40, 42]]] as const) {
    for (const column of columns) {
      const before: object = sourceMap(mappings).findEntry(line, column)
      const after: object = sourceMap(lines).findEntry(line, column)
      for (const name of ['originalSource', 'originalLine']) {
        t.equal(Reflect.get(after, name), Reflect.get(before, name), `${name} of ${line}:${column}`)
      }
    }
  }
})

t.test('what is no map is refused', async t => {
  t.throws(() => linesOnly('AA?A'), /'AA\?A' is not a segment/)
})
