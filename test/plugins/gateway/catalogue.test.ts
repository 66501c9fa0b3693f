import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CatalogueFile, CatalogueRow } from '../../../services/config/catalogue/catalogue-file.ts'
import { shippedCatalogue } from '../../../services/config/catalogue/models.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { runAt, type Ended } from '../../cli/helper.ts'
import { startGateway, type Gateway } from '../../helpers/gateway.ts'
import { reply, startUpstream } from '../../servers/upstream.ts'

const shipped = shippedCatalogue()
const row: CatalogueRow = { kind: 'chat', input: ['text'], output: ['text'], features: ['tools'], released: '2027-01-01' }
const fileWith = (rows: Record<string, CatalogueRow>): CatalogueFile =>
  ({ ...shipped, date: '2027-01-02', providers: { openai: rows } })
const priced = (usd: number): CatalogueRow =>
  ({ ...row, price: { inputPico: usd * 1e6, outputPico: usd * 2e6 }, contextWindow: 8000, maxOutput: 1000 })

interface Scene {
  gateway: Gateway
  cli: (...args: string[]) => Promise<Ended>
  /** Writes a catalogue and returns its path. */
  write: (content: unknown) => string
  chat: (model: string) => Promise<{ status: number, cost: string | null }>
}

async function start (t: Test): Promise<Scene> {
  const folder = t.testdir({})
  const upstream = await startUpstream({ route: () => reply() })
  t.teardown(() => upstream.close())
  const DATABASE_URL = `sqlite:${join(folder, 'tollgate.db')}`
  const env = { DATABASE_URL, OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `${upstream.url}/v1` }
  const gateway = await startGateway(t, { config: configFromEnvironment(env), env })
  return {
    gateway,
    cli: async (...args) => await runAt(DATABASE_URL, args),
    write (content) {
      const path = join(folder, `${createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 8)}.json`)
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
      return path
    },
    async chat (model) {
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] })
      const response = await fetch(`${gateway.url}/chat/completions`, { method: 'POST', headers: gateway.headers, body })
      await response.arrayBuffer()
      return { status: response.status, cost: response.headers.get('x-tollgate-cost-usd') }
    }
  }
}

const applied = async ({ gateway }: Scene, id: number | null): Promise<unknown> =>
  await gateway.line(line => line.msg === 'catalogue applied' && line.id === id)

t.test('a catalogue is applied and undone without a restart, while requests run', async t => {
  const scene = await start(t)
  const { cli, write, chat } = scene
  t.match(await chat('openai/gpt-next'), { status: 400 }, 'it has no price yet')
  const running = new AbortController()
  const statuses = new Set<number>()
  const load = (async () => {
    while (!running.signal.aborted) statuses.add((await chat('openai/gpt-4.1')).status)
  })()
  t.match(await cli('catalogue', 'update', '--from', write(fileWith({ 'gpt-next': priced(3) }))), { code: 0, out: '1 new' })
  await applied(scene, 1)
  const answered = await chat('openai/gpt-next')
  t.equal(answered.status, 200)
  t.match(await cli('catalogue', 'undo'), { code: 0, out: 'Undone' })
  await applied(scene, null)
  t.equal((await chat('openai/gpt-next')).status, 400)
  running.abort()
  await load
  t.strictSame([...statuses], [200], 'no request noticed')
  t.match((await cli('audit')).out, /catalogue\.undo[^]*catalogue\.update/)
  t.match(await cli('catalogue', 'undo'), { code: 0, out: 'No update' })
})

t.test('a bad file is refused and changes nothing', async t => {
  const { cli, write } = await start(t)
  const good = fileWith({ 'gpt-next': priced(3) })
  const path = write(good)
  const cases: [string[], RegExp][] = [
    [[write('not JSON')], /is not JSON/],
    [[write({ ...good, providers: { unheard: {} } })], /wrong structure at \/providers/],
    [[write(fileWith({ m: { ...row, price: { inputPico: -1, outputPico: 1 } } }))], /wrong structure at .*inputPico/],
    [[write(fileWith({ m: { ...row, price: { inputPico: 1.5, outputPico: 1 } } }))], /wrong structure/],
    [[write({ ...good, date: '2020-01-01' })], /is of 2020-01-01/],
    [[write('x'.repeat(5_000_000))], /is larger than/],
    [[path, '--sha256', 'a'.repeat(64)], /has the SHA-256/],
    [[join(path, '..', 'none.json')], /ENOENT/],
    [['http://example.com/models.json'], /needs HTTPS/]
  ]
  for (const [args, message] of cases) {
    t.match(await cli('catalogue', 'update', '--from', ...args), { code: 1, err: message }, String(message))
  }
  writeFileSync(`${path}.sha256`, `${'b'.repeat(64)}  models.json\n`)
  t.match(await cli('catalogue', 'update', '--from', path), { code: 1, err: 'has the SHA-256' }, 'the hash beside it')
  t.notMatch((await cli('audit')).out, 'catalogue')
})

t.test('a price never falls silently', async t => {
  const scene = await start(t)
  const { cli, write, gateway } = scene
  const input = (): number | null | undefined => gateway.app.models.resolve('openai/gpt-4.1')?.model.price?.inputPico
  const path = write(fileWith({ 'gpt-4.1': priced(1), 'gpt-4o': priced(50) }))
  t.match(await cli('catalogue', 'update', '--from', path), { out: /1 dearer, 1 cheaper there, but unchanged[^]*\+ openai\/gpt-4o\n- openai\/gpt-4\.1/ })
  await applied(scene, 1)
  t.equal(input(), 2_000_000, 'kept')
  t.equal(gateway.app.models.resolve('openai/gpt-4o')?.model.price?.inputPico, 50_000_000, 'a dearer price is applied')
  t.match(await cli('catalogue', 'update', '--from', path, '--lower-prices'), { out: /cheaper\n/ })
  await applied(scene, 2)
  t.equal(input(), 1_000_000)
  t.match((await cli('audit')).out, /"fallen":\["openai\/gpt-4\.1"\][^]*"falls_refused":\["openai\/gpt-4\.1"\]/)
})

t.test('a configured URL is read by one node, and an undone update is not applied again', async t => {
  const content = JSON.stringify(fileWith({ 'gpt-next': priced(3) }))
  const sha256 = createHash('sha256').update(content).digest('hex')
  const server = createServer(({ url }, response) => response.end(url?.endsWith('.sha256') === true ? sha256 : content))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const env = { OPENAI_API_KEY: 'sk-test', TOLLGATE_CATALOGUE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/models.json` }
  const { fetchUpdate } = await import('../../../services/operations/catalogue/fetch-update.ts')
  const { applyUpdate, undoUpdate } = await import('../../../services/operations/catalogue/updates.ts')
  const { gatewayActor } = await import('../../../services/store/audit.ts')
  const gateway = await startGateway(t, { config: configFromEnvironment(env), env })
  const fetched = await fetchUpdate(env.TOLLGATE_CATALOGUE_URL, null)
  const request = { ...fetched, source: env.TOLLGATE_CATALOGUE_URL, allowsLower: false, actor: gatewayActor }
  const { store } = gateway.app
  t.match(await applyUpdate(store, request), { added: ['openai/gpt-next'] })
  t.equal(await applyUpdate(store, request), null, 'already applied')
  t.match(await undoUpdate(store, gatewayActor), { sha256 })
  t.equal(await applyUpdate(store, request), null, 'undone')
})
