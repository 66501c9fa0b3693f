import t from 'tap'
import { createRowInsert } from '../../../services/store/insert-rows.ts'
import { openStore } from '../../../services/store/open.ts'

interface Row { id: string, colour: string, size: number | null }

const insert = createRowInsert<Row>('thing', {
  columns: ['id', 'size'],
  add: ({ id, size }, values) => values.push(id, size),
  shared: {
    columns: ['colour'],
    add: ({ colour }, values) => values.push(colour),
    areAlike: (one, other) => one.colour === other.colour
  },
  constants: { kind: 'it\'s', weight: 7, note: null },
  ending: 'on conflict do nothing'
})

for (const [name, colourOf] of [
  ['rows that are alike', () => 'red'],
  ['rows that are not', (index: number) => `colour ${index % 3}`],
  ['both in one go', (index: number) => index < 40 ? 'red' : `colour ${index}`]
] as const) {
  t.test(`${name} arrive as they are, those that are new are counted`, async t => {
    const store = await openStore('sqlite::memory:')
    t.teardown(() => store.close())
    await store.run('create table thing (id text primary key, size integer, colour text, kind text, weight integer, note text)')
    const rows = Array.from({ length: 61 }, (_, index) => {
      return { id: `i${index}`, size: index % 2 === 0 ? index : null, colour: colourOf(index) }
    })
    t.equal(await insert(store, []), 0)
    t.equal(await insert(store, rows.slice(30, 31)), 1)
    t.equal(await insert(store, rows), 60)
    t.same(await store.all('select * from thing order by cast(substr(id, 2) as integer)'),
      rows.map(row => ({ ...row, kind: 'it\'s', weight: 7, note: null })))
  })
}
