import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { checkLedger } from '../services/billing/ledger/check/check-books.ts'
import { emptyPrice } from '../services/config/catalogue/models.ts'
import { openStore } from '../services/store/open.ts'
import { configFor, providerAt, startGateway } from './helpers/gateway.ts'
import { temporaryFolder } from './helpers/process.ts'
import { reply, scripts, startUpstream } from './servers/upstream.ts'

// A SQLite file that is deleted, moved or replaced under a gateway that has it open.

const adminKey = 'operator-key-of-this-test'

async function startOnFile (t: Test) {
  const folder = join(await temporaryFolder(t), 'data')
  await mkdir(folder)
  const file = join(folder, 'tollgate.db')
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
  const gateway = await startGateway(t, {
    config: configFor(providerAt(upstream.url), { price }),
    env: { DATABASE_URL: `sqlite:${file}`, TOLLGATE_STARTING_CREDIT: '1', TOLLGATE_ADMIN_KEY: adminKey }
  })
  const ask = async (): Promise<number> => {
    const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 })
    const answer = await request(`${gateway.url}/chat/completions`, { method: 'POST', headers: gateway.headers, body })
    if (answer.statusCode !== 200) {
      t.match(await answer.body.json(), { error: { type: 'service_unavailable_error', message: /lost its database/ } })
    } else await answer.body.dump()
    return answer.statusCode
  }
  const ready = async (): Promise<number> => (await gateway.app.inject('/readyz')).statusCode
  return { ...gateway, folder, file, upstream, ask, ready }
}

const files = (file: string): string[] => ['', '-wal', '-shm'].map(end => file + end)

const cases: Record<string, (file: string, folder: string) => Promise<void>> = {
  'deleted with its log': async file => { await Promise.all(files(file).map(one => rm(one))) },
  'moved away': async file => { await rename(file, `${file}.old`) },
  'replaced by a backup': async file => {
    await copyFile(file, `${file}.backup`)
    await rename(`${file}.backup`, file)
  },
  'left without its log': async file => { await rm(`${file}-wal`) },
  'deleted with its folder': async (_file, folder) => { await rename(folder, `${folder}.old`) }
}

for (const [what, happens] of Object.entries(cases)) {
  t.test(`a database file that was ${what} takes nothing new`, async t => {
    const { app, ask, ready, file, folder, line, upstream } = await startOnFile(t)
    upstream.always(reply({ usage: { prompt: 10, completion: 5 } }))
    t.same([await ask(), await ready()], [200, 200])
    await happens(file, folder)
    const logged = await line(({ level, msg }) => Number(level) >= 50 && String(msg).includes(file))
    t.match(logged, { msg: /requests are refused/, file })
    t.same([await ask(), await ready()], [503, 503])
    t.match((await app.inject('/readyz')).json(), { database: 'gone' })
    const headers = { authorization: `Bearer ${adminKey}` }
    const created = { method: 'POST', url: '/admin/keys', payload: { account: 'default' }, headers } as const
    t.equal((await app.inject(created)).statusCode, 503, 'nor a write of an operator')
    t.equal((await app.inject({ url: '/metrics', headers })).statusCode, 200)
    const left = await readdir(folder).catch((): string[] => [])
    t.notOk(what.startsWith('deleted') && left.includes('tollgate.db'), 'no new file is made')
  })
}

t.test('what runs when the file is deleted is charged to the open file, from which the books are restored', async t => {
  const { app, ask, file, line, upstream } = await startOnFile(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  upstream.always(scripts.heldUntil(promise, reply({ usage: { prompt: 10, completion: 5 } })))
  const running = ask()
  await upstream.nextRequest()
  await Promise.all(files(file).map(one => rm(one)))
  const { openFiles } = await line(({ msg }) => String(msg).includes('requests are refused'))
  resolve()
  t.equal(await running, 200)
  await app.ledger.flush()
  if (process.platform !== 'linux') return
  for (const [name, open] of Object.entries(Object(openFiles))) await copyFile(String(open), name)
  const store = await openStore(`sqlite:${file}`)
  t.match(await store.all("select amount from entry where kind = 'usage'"), [{ amount: 30_000 }])
  t.same(await checkLedger(store), [])
  await store.close()
})

t.test('a file that is put back is used again', async t => {
  const { ask, ready, file, line, upstream } = await startOnFile(t)
  upstream.always(reply({ usage: { prompt: 10, completion: 5 } }))
  await rename(file, `${file}.old`)
  await line(({ msg }) => String(msg).includes('requests are refused'))
  t.equal(await ask(), 503)
  await rename(`${file}.old`, file)
  await line(({ msg }) => msg === 'the database file is in its place again')
  t.same([await ask(), await ready()], [200, 200])
})
