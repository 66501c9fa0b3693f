import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { knownProviders } from '../../schemas/config/known-providers.ts'
import { isSold } from '../../services/models/registry.ts'
import { configFromEnvironment } from '../../services/config/environment/environment.ts'
import { startGateway } from '../helpers/gateway.ts'

// The chat models that the newest SDKs name, as lists of their providers behind a gateway without a file.

interface Names { providers: Record<string, string[]> }

const file = join(import.meta.dirname, '../fixtures/catalogue/sdk-models.json')
const { providers }: Names = JSON.parse(readFileSync(file, 'utf8'))

/** Serves each list below the id of its provider, in the form of every API. */
const server = createServer(({ url = '' }, response) => {
  const names = providers[url.split('/')[1] ?? ''] ?? []
  const models = names.map(name => ({ name: `models/${name}`, supportedGenerationMethods: ['generateContent'] }))
  const body = { data: names.map(id => ({ id, type: 'model' })), models, has_more: false }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** A gateway with these providers, which has read their lists. */
async function startWith (ids: readonly string[]) {
  const env = Object.fromEntries(knownProviders.filter(({ id }) => ids.includes(id)).flatMap(one => {
    return [[one.keys[0] ?? '', 'key'], [one.baseUrlVariable, `${origin}/${one.id}`]]
  }))
  const gateway = await startGateway(t, { config: configFromEnvironment(env) })
  await gateway.app.models.discover(AbortSignal.timeout(30_000))
  return gateway
}

const { app: { models } } = await startWith(Object.keys(providers))

/** Most of what they offer has a price. */
const makers = new Set(['openai', 'anthropic', 'mistral', 'xai', 'deepseek', 'fireworks', 'cerebras'])

t.test('every chat model of the SDKs has a price, or is named as one that lacks it', async t => {
  const unpriced = new Set(models.unpriced())
  const listed = new Map(models.list().map(model => [model.id, model]))
  let [sold, named, other] = [0, 0, 0]
  for (const [id, names] of Object.entries(providers)) {
    const lacking = names.filter(name => unpriced.has(`${id}/${name}`))
    const priced = names.filter(name => isSoldChat(listed.get(`${id}/${name}`)))
    const others = names.filter(name => !lacking.includes(name) && !priced.includes(name))
    t.comment(`${id}: ${names.length} names, ${priced.length} with a price, ${lacking.length} named, ${others.length} no chat model`)
    const chats = others.filter(name => listed.get(`${id}/${name}`)?.kind === 'chat')
    t.same(chats, [], id)
    if (makers.has(id)) t.ok(lacking.length <= names.length / 5, `${id} lacks ${lacking.join(', ')}`)
    sold += priced.length
    named += lacking.length
    other += others.length
  }
  t.comment(`${sold} with a price, ${named} named without one, ${other} no chat models`)
})

t.test('the default models of agents have a price', async t => {
  for (const id of ['openai/gpt-6.2-sol', 'anthropic/claude-opus-5-5', 'anthropic/claude-sonnet-5-5', 'gpt-5.6-sol']) {
    t.ok(isSoldChat(models.resolve(id)?.model), id)
  }
})

t.test('auto chooses this year\'s models for work', async t => {
  const gateway = await startWith(['openai', 'anthropic', 'gemini'])
  for (const content of ['Prove that there are infinitely many primes.', 'Write a parser of TOML in Rust.']) {
    const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content }] })
    const response = await fetch(`${gateway.url}/routing/decisions`, { method: 'POST', headers: gateway.headers, body })
    const { model } = Object(await response.json())
    const created = gateway.app.models.resolve(model)?.model.created ?? 0
    t.ok(created >= Date.parse('2026-01-01') / 1000, `${content}: ${model}`)
  }
})

function isSoldChat (model: ReturnType<typeof models.list>[number] | undefined): boolean {
  return model?.kind === 'chat' && isSold(model)
}
