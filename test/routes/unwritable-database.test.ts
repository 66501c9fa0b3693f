import t from 'tap'
import { buildAdmin } from './admin/helper.ts'

t.test('while the disk of SQLite is full, clients are told so, and afterwards all goes on', async t => {
  const { app, ask } = await buildAdmin(t)
  const { store } = app
  // The file may grow to as many pages as it has now.
  await store.run('pragma max_page_count = 1')
  const answers = []
  for (let index = 0; index < 200 && answers.at(-1)?.status !== 503; index++) {
    answers.push(await ask('POST', '/accounts', { id: `team-${index}`, name: 'n'.repeat(200) }))
  }
  t.match(answers.at(-1), {
    status: 503,
    headers: { 'retry-after': '1' },
    body: { error: { message: /^The disk of the gateway's database is full\./, code: 'service_unavailable' } }
  })
  t.match(await ask('GET', '/accounts'), { status: 200 }, 'reading goes on')
  await store.run('pragma max_page_count = 100000')
  t.match(await ask('POST', '/accounts', { id: 'last' }), { status: 201 })
})

t.test('while Postgres is read-only, clients are told so', async t => {
  const { app, ask } = await buildAdmin(t, 'postgres')
  t.intercept(app.store, 'transaction', {
    value: async () => await app.store.run(`
    do $$ begin raise exception 'read-only' using errcode = '25006'; end $$`)
  })
  t.match(await ask('POST', '/accounts', { id: 'team' }), {
    status: 503, body: { error: { message: /^The gateway's database cannot be written\./ } }
  })
})
