import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import catalogue from '../../../plugins/gateway/catalogue.ts'
import type { CatalogueFile, CatalogueRow } from '../../../services/config/catalogue/catalogue-file.ts'
import { shippedCatalogue } from '../../../services/config/catalogue/models.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { runAt } from '../../cli/helper.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { startGateway, type Gateway } from '../../helpers/gateway.ts'
import { reply, startUpstream } from '../../servers/upstream.ts'

const shipped = shippedCatalogue()
const priced = (usd: number): CatalogueRow => ({
  kind: 'chat',
  input: ['text'],
  output: ['text'],
  features: ['tools'],
  released: '2027-01-01',
  price: { inputPico: usd * 1e6, outputPico: usd * 2e6 }
})
const fileWith = (rows: Record<string, CatalogueRow>, date = '2027-01-02'): CatalogueFile =>
  ({ ...shipped, date, providers: { openai: rows } })

/** A server of a catalogue, which can be replaced. */
async function startSource (t: Test) {
  const served: { content: unknown, sha256?: string, status: number } = { content: '', status: 200 }
  const server = createServer(({ url }, response) => {
    const content = typeof served.content === 'string' ? served.content : JSON.stringify(served.content)
    const sha256 = served.sha256 ?? createHash('sha256').update(content).digest('hex')
    response.writeHead(served.status).end(url?.endsWith('.sha256') === true ? sha256 : content)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { served, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/models.json` }
}

const inputOf = ({ app }: Pick<Gateway, 'app'>, model: string): number | null | undefined =>
  app.models.resolve(`openai/${model}`)?.model.price?.inputPico

t.test('the timer applies what a URL has, and a bad response changes nothing', async t => {
  const { served, url } = await startSource(t)
  served.status = 500
  const env = { OPENAI_API_KEY: 'sk-test' }
  const config = configFromEnvironment(env)
  const gateway = await startGateway(t, {
    config,
    env,
    beforeReady: async app => {
      app.register(catalogue, { url, load: () => config, pollMs: 20, refreshMs: 20 })
    }
  })
  const refused = async (words: RegExp): Promise<unknown> => await gateway.line(({ msg, err }) => {
    return msg === 'the catalogue was not refreshed' && words.test(String(Object(err).message))
  })
  await refused(/responded with 500/)
  Object.assign(served, { status: 200, content: fileWith({ 'gpt-next': priced(3) }), sha256: 'b'.repeat(64) })
  await refused(/has the SHA-256/)
  Object.assign(served, { content: { ...shipped, providers: { unheard: {} } }, sha256: undefined })
  await refused(/wrong structure/)
  served.content = fileWith({ 'gpt-next': priced(3) }, '2020-01-01')
  await refused(/is of 2020-01-01/)
  t.equal(inputOf(gateway, 'gpt-next'), undefined)
  served.content = fileWith({ 'gpt-next': priced(3) })
  await gateway.line(({ msg, added }) => msg === 'catalogue refreshed' && String(added) === '1')
  await gateway.line(({ msg, id }) => msg === 'catalogue applied' && id === 1)
  t.equal(inputOf(gateway, 'gpt-next'), 3_000_000)
  served.content = fileWith({ 'gpt-next': priced(1) }, '2027-01-03')
  await gateway.line(({ msg, fallen }) => msg === 'catalogue refreshed' && String(fallen) === 'openai/gpt-next')
  await gateway.line(({ msg, id }) => msg === 'catalogue applied' && id === 2)
  t.equal(inputOf(gateway, 'gpt-next'), 3_000_000, 'a price that falls is kept, and named')
  await gateway.app.close()
})

t.test('two nodes of one database apply an update, refuse a bad one and undo, while requests run', async t => {
  const folder = t.testdir({})
  const upstream = await startUpstream({ route: () => reply() })
  t.teardown(() => upstream.close())
  const { url: DATABASE_URL } = await createDatabase(t, 'postgres')
  const env = { DATABASE_URL, OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `${upstream.url}/v1` }
  const one = await startGateway(t, { config: configFromEnvironment(env), env })
  const two = await startGateway(t, { config: configFromEnvironment(env), env })
  const nodes = [one, two]
  const chat = async ({ url }: Gateway, model: string): Promise<number> => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] })
    const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers: one.headers, body })
    await response.arrayBuffer()
    return response.status
  }
  const everywhere = async (id: number | null): Promise<unknown> =>
    await Promise.all(nodes.map(node => node.line(line => line.msg === 'catalogue applied' && line.id === id)))
  const update = async (content: unknown) => {
    const path = join(folder, 'models.json')
    writeFileSync(path, JSON.stringify(content))
    return await runAt(DATABASE_URL, ['catalogue', 'update', '--from', path])
  }
  const running = new AbortController()
  const statuses = new Set<number>()
  const load = nodes.map(async node => {
    while (!running.signal.aborted) statuses.add(await chat(node, 'openai/gpt-4.1'))
  })
  t.match(await update(fileWith({ 'gpt-next': priced(3) })), { code: 0, out: '1 new' })
  await everywhere(1)
  t.same(await Promise.all(nodes.map(node => chat(node, 'openai/gpt-next'))), [200, 200])
  t.match(await update({ ...shipped, providers: { unheard: {} } }), { code: 1, err: /wrong structure/ })
  t.same(await Promise.all(nodes.map(node => chat(node, 'openai/gpt-next'))), [200, 200], 'it changed nothing')
  t.match(await runAt(DATABASE_URL, ['catalogue', 'undo']), { code: 0, out: 'Undone' })
  await everywhere(null)
  t.same(await Promise.all(nodes.map(node => chat(node, 'openai/gpt-next'))), [400, 400])
  running.abort()
  await Promise.all(load)
  t.strictSame([...statuses], [200], 'no request noticed')
})
