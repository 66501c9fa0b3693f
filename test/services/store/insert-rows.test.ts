import t from 'tap'
import { createRowInsert } from '../../../services/store/sqlite-connection.ts'
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

const table = `create table thing (
  id text primary key, size integer check (size < 1000), colour text, kind text, weight integer, note text)`

for (const [name, colourOf] of [
  ['rows that are alike', () => 'red'],
  ['rows that are not', (index: number) => `colour ${index % 3}`],
  ['both in one go', (index: number) => index < 130 ? 'red' : `colour ${index}`]
] as const) {
  t.test(`${name} are inserted unchanged, and new ones counted`, async t => {
    const store = await openStore('sqlite::memory:')
    t.teardown(() => store.close())
    await store.run(table)
    const rows = Array.from({ length: 161 }, (_, index) => {
      return { id: `i${index}`, size: index % 2 === 0 ? index : null, colour: colourOf(index) }
    })
    t.equal(await insert(store, []), 0)
    t.equal(await insert(store, rows.slice(30, 31)), 1)
    t.equal(await insert(store, rows), 160)
    t.same(await store.all('select * from thing order by cast(substr(id, 2) as integer)'),
      rows.map(row => ({ ...row, kind: 'it\'s', weight: 7, note: null })))
  })
}

t.test('rows that the database rejects roll their transaction back', async t => {
  const store = await openStore('sqlite::memory:')
  t.teardown(() => store.close())
  await store.run(table)
  const row = (id: string, size: number) => ({ id, size, colour: 'red' })
  const failing = store.transaction(async queries => {
    await insert(queries, [row('before', 1)])
    await t.rejects(insert(queries, [row('good', 2), row('bad', 1000)]), { message: /CHECK constraint/ })
    await t.rejects(insert(queries, [row('after', 3)]), { message: /CHECK constraint/ }, 'nothing follows')
  })
  await t.rejects(failing, { message: /CHECK constraint/ })
  t.same(await store.all('select id from thing'), [])
  await store.transaction(async queries => { await insert(queries, [row('next', 4)]) })
  t.same(await store.all('select id from thing'), [{ id: 'next' }])
})
