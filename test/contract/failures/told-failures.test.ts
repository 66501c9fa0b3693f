import { randomUUID } from 'node:crypto'
import { APIError } from 'openai'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { breakerDefaults, requestsDefaults } from '../../../services/config/defaults.ts'
import type { GatewayConfig } from '../../../services/config/catalogue/types.ts'
import { UpstreamError } from '../../../services/shared/errors.ts'
import { forEachEngine, type Database } from '../../helpers/engines.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { document, refusal, reply, scripts, startUpstream, type Upstream } from '../../servers/upstream.ts'
import { clientNames, clients, errorClasses } from '../clients.ts'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'

const adminKey = 'operator-key-of-this-test'
const prompt = 'My cat is called Mimi and my PIN is 4711'
const usual = { model: 'chat', messages: [{ role: 'user' as const, content: prompt }], max_tokens: 500 }
const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
/** What providers say, with what is the operator's. */
const secrets = 'for organization org-AbCdEf123456 with key sk-proj-abcDEF1234567890, see http://gpu-3.internal:8000/v1, ' +
  'Authorization: Bearer abc.def.1234567, or write to jane@example.com'
const hidden = /AbCdEf|abcDEF|gpu-3|abc\.def|jane/

interface Shop { one: Upstream, two: Upstream, gateways: Gateway[] }

/** Gateways on one database that sell `chat`, at two providers. */
async function open (t: Test, { nodes = 1, database, env = {}, retries = 0 }:
{ nodes?: number, database?: Database, env?: Record<string, string>, retries?: number } = {}): Promise<Shop> {
  const [one, two] = [await startUpstream(), await startUpstream()]
  for (const upstream of [one, two]) t.teardown(() => upstream.close().catch(() => {}))
  const providers = [providerAt(one.url, { id: 'one' }), providerAt(two.url, { id: 'two' })]
  const deployments = providers.map(({ id }, priority) => ({ provider: id, model: `at-${id}`, weight: 1, priority }))
  const base = configFor(providerAt(one.url), { deployments, price, maxOutput: 1000 })
  const config: GatewayConfig = {
    ...base,
    providers,
    requests: { ...requestsDefaults, retries, backoffMs: 10 },
    breaker: { ...breakerDefaults, failures: 1000, minRequests: 1000 }
  }
  const settings = {
    TOLLGATE_STARTING_CREDIT: '10',
    TOLLGATE_ADMIN_KEY: adminKey,
    ...(database !== undefined && { DATABASE_URL: database.url }),
    ...env
  }
  const gateways = []
  for (let node = 0; node < nodes; node++) gateways.push(await startGateway(t, { config, env: settings }))
  return { one, two, gateways }
}

// What the answer is like, the test says.
interface Body { data: Record<string, unknown>[], next: string | null, error?: object }
interface Answer { status: number, body: Body }

async function admin ({ url }: Gateway, path: string, key = adminKey): Promise<Answer> {
  const answer = await request(`${url.replace(/\/v1$/, '')}/admin${path}`, { headers: { authorization: `Bearer ${key}` } })
  const body = await answer.body.json() as Body
  return { status: answer.statusCode, body }
}

const first = ({ gateways: [gateway] }: Shop): Gateway => {
  if (gateway === undefined) throw new Error('there is no gateway')
  return gateway
}

for (const name of clientNames) {
  t.test(`${name}: the client reads why the provider refused its request`, async t => {
    const shop = await open(t)
    const gateway = first(shop)
    const client = clients[name](gateway)
    const { BadRequestError } = errorClasses[name]
    for (const stream of [false, true]) {
      shop.one.script(refusal(400, {
        message: `Invalid value 'x' ${secrets}`, param: 'messages[0].content', code: 'invalid_value'
      }))
      const error: unknown = await client.chat.completions.create({ ...usual, stream }).catch(error => error)
      if (!(error instanceof BadRequestError)) return t.fail('it was not refused', { error })
      t.match(error, { status: 400, type: 'invalid_request_error', param: 'messages[0].content', code: 'invalid_value' })
      t.match(error.message, /^400 Invalid value 'x' for organization \[redacted\] with key \[redacted\], see \[server\]/)
      t.notMatch(JSON.stringify(error), hidden)
      // The headers of version 4 are a plain object.
      const id = new Headers(error.headers).get('x-request-id')
      const line = await gateway.line(({ msg, reqId }) => msg === 'request' && reqId === id)
      t.match(line, { status: 400, code: 'invalid_value', words: /^Invalid value 'x' for organization/ })
      const failed = await gateway.line(({ msg, reqId }) => msg === 'a call of a provider failed' && reqId === id)
      t.match(failed, { provider: 'one', status: 400, code: 'invalid_value', words: /^Invalid value 'x'/ })
      t.match((await admin(gateway, `/requests/${id}`)).body.data, [{
        id, status: 400, outcome: 'refused', stream, error_code: 'invalid_value', provider_words: /^Invalid value 'x' for/, entries: []
      }])
    }
    t.notMatch(JSON.stringify(gateway.lines), hidden)
    t.notMatch(JSON.stringify(gateway.lines), /Mimi/)
  })
}

t.test('words about the operator\'s account reach the operator alone', async t => {
  const shop = await open(t)
  const gateway = first(shop)
  const client = clients['openai 7'](gateway)
  for (const upstream of [shop.one, shop.two]) upstream.script(refusal(401, { message: `Key disabled ${secrets}` }))
  const error: unknown = await client.chat.completions.create(usual).catch(error => error)
  t.match(error, { status: 502, code: 'upstream_auth' })
  t.notMatch(String(error), /disabled/)
  const { body: { data: [shown] } } = await admin(gateway, '/requests?outcome=failed')
  t.match(shown, {
    status: 502,
    error_code: 'upstream_auth',
    provider_words: /^Key disabled for organization/,
    attempt_count: 2,
    attempts: [
      { provider: 'one', model: 'at-one', status: 401, failure: 'auth', words: /^Key disabled/, duration_ms: Number },
      { provider: 'two', model: 'at-two', status: 401, failure: 'auth', words: /^Key disabled/ }
    ]
  })
  t.notMatch(JSON.stringify([shown, gateway.lines]), hidden)
})

forEachEngine(t, 'any node shows a request by its id, with all that came of it', async (t, database) => {
  const shop = await open(t, { nodes: database.engine === 'postgres' ? 2 : 1, database })
  const gateway = first(shop)
  const reader = shop.gateways.at(-1) ?? gateway
  const client = clients['openai 7'](gateway)
  shop.one.script(refusal(503, { message: 'Overloaded, try later.' }))
  const { data, response } = await client.chat.completions.create(usual).withResponse()
  const id = response.headers.get('x-request-id') ?? ''
  await gateway.app.flushRequestLog()
  await gateway.app.ledger.flush()
  const { body } = await admin(reader, `/requests/${id}`)
  const cost = Number(response.headers.get('x-tollgate-cost'))
  const nano = Math.round(cost * 1e9)
  t.match(body.data, [{
    object: 'request',
    id,
    key: /^[0-9a-f]+$/,
    account: 'default',
    route: '/v1/chat/completions',
    model_asked: 'chat',
    policy: null,
    model: 'chat',
    provider: 'two',
    stream: false,
    status: 200,
    outcome: 'succeeded',
    error_code: null,
    provider_words: null,
    attempt_count: 2,
    attempts: [
      { provider: 'one', model: 'at-one', status: 503, failure: 'overloaded', words: 'Overloaded, try later.' },
      { provider: 'two', model: 'at-two', status: 200, failure: null, words: null, started_ms: Number, duration_ms: Number }
    ],
    prompt_tokens: data.usage?.prompt_tokens,
    completion_tokens: data.usage?.completion_tokens,
    held_nano: Number,
    cost_nano: nano,
    first_byte_ms: Number,
    total_ms: Number,
    job: null,
    entries: [{ id: /^entry_/, kind: 'usage', amount_nano: nano }]
  }])
  t.ok(Number(body.data[0]?.held_nano) >= nano)
  const { body: { data: booked } } = await admin(reader, '/entries?kind=usage')
  t.match(booked, [{ id: (body.data[0]?.entries as { id: string }[])[0]?.id, ref: id }])
  t.match(await admin(reader, '/requests/req_unknown'), { status: 404, body: { error: { code: 'request_not_found' } } })
  t.notMatch(JSON.stringify(body), /Mimi/)
})

forEachEngine(t, 'requests are listed, filtered and paged', async (t, database) => {
  const shop = await open(t, { database })
  const gateway = first(shop)
  const client = clients['openai 7'](gateway)
  const ask = (body: object = {}) => client.chat.completions.create({ ...usual, ...body }).catch(() => null)
  await ask()
  shop.one.script(refusal(400))
  await ask()
  await ask({ model: 'nobody' })
  shop.one.script(refusal(500))
  shop.two.script(refusal(500))
  await ask()
  shop.one.script(scripts.errorAfter(3))
  const broken = await client.chat.completions.create({ ...usual, stream: true })
  await Array.fromAsync(broken).catch(() => null)

  const list = async (query = '') => (await admin(gateway, `/requests?${query}`)).body.data
  const outcomes = (rows: Record<string, unknown>[]) => rows.map(({ outcome, status }) => `${outcome} ${status}`)
  t.same(outcomes(await list()), ['broken_off 200', 'failed 502', 'refused 404', 'refused 400', 'succeeded 200'])
  t.same(outcomes(await list('outcome=refused')), ['refused 404', 'refused 400'])
  t.same(outcomes(await list('status=404')), ['refused 404'])
  t.same(outcomes(await list('status=5xx')), ['failed 502'])
  t.same(outcomes(await list('model=nobody')), ['refused 404'])
  t.same(outcomes(await list('provider=two')), ['failed 502'])
  t.same((await list('provider=one')).length, 4)
  for (const pattern of ['%25', 'on_', 'o%25']) t.same(await list(`provider=${pattern}`), [], pattern)
  const [newest] = await list()
  t.match(newest, { stream: true, provider_words: /had an error/, attempts: [{ provider: 'one', status: Number, failure: String }] })
  t.same((await list(`key=${String(newest?.key)}`)).length, 5)
  t.same(await list('key=key_other'), [])
  t.same(await list('account=other'), [])
  t.same((await list(`from=${new Date(Date.now() - 3_600_000).toISOString()}`)).length, 5)
  t.same(await list(`to=${new Date(Date.now() - 3_600_000).toISOString()}`), [])
  const seen: unknown[] = []
  for (let after = ''; ;) {
    const { body: { data, next } } = await admin(gateway, `/requests?limit=2${after}`)
    seen.push(...data.map(({ id }) => id))
    if (next === null) break
    after = `&after=${next}`
  }
  t.same(seen, (await list()).map(({ id }) => id))
  for (const query of ['status=6xx', 'outcome=good', 'limit=0', 'after=x', 'from=x', 'more=1']) {
    t.match(await admin(gateway, `/requests?${query}`), { status: 400 }, query)
  }
})

forEachEngine(t, 'an id that a client uses again shows all its requests, each with its own entries', async (t, database) => {
  const { gateways: [gateway] } = await open(t, { database })
  if (gateway === undefined) return
  const client = clients['openai 7'](gateway)
  const id = `mine-${randomUUID()}`
  const options = { headers: { 'x-request-id': id } }
  await client.chat.completions.create(usual, options)
  await client.chat.completions.create({ ...usual, stream: true }, options).then(Array.fromAsync)
  // Those at the same time as well.
  await Promise.all([1, 2, 3].map(() => client.chat.completions.create(usual, options)))
  const { body: { data } } = await admin(gateway, `/requests/${id}`)
  t.match(data, [...Array(3).fill({ id }), { id, stream: true }, { id, stream: false }])
  t.same(data.map(({ entries }) => (entries as object[]).length), [1, 1, 1, 1, 1])
  for (let after = '', { length } = data; length > 0; length--) {
    const { body } = await admin(gateway, `/requests/${id}?limit=1${after}`)
    t.match(body.data, [{ id, entries: [{ kind: 'usage' }] }])
    t.equal((body.data[0]?.entries as object[]).length, 1, 'also alone on a page')
    after = `&after=${body.next}`
  }
})

t.test('all roles may read the log, keys of clients may not', async t => {
  const shop = await open(t)
  const gateway = first(shop)
  const { key } = await gateway.app.inject({
    method: 'POST',
    url: '/admin/keys',
    headers: { authorization: `Bearer ${adminKey}` },
    payload: { admin: true, role: 'viewer' }
  }).then(answer => answer.json())
  t.equal((await admin(gateway, '/requests', key)).status, 200)
  t.equal((await admin(gateway, '/requests/req_x', key)).status, 404)
  t.equal((await admin(gateway, '/requests', gateway.key)).status, 401)
})

t.test('an operator may keep words out of the log, but not from the client', async t => {
  const shop = await open(t, { env: { TOLLGATE_PROVIDER_WORDS: 'off' } })
  const gateway = first(shop)
  const client = clients['openai 7'](gateway)
  shop.one.script(refusal(400, { message: 'The spoken words.' }))
  const error: unknown = await client.chat.completions.create(usual).catch(error => error)
  t.match(error instanceof APIError ? error.message : '', /spoken/)
  for (const upstream of [shop.one, shop.two]) upstream.script(refusal(503, { message: 'The spoken words.' }))
  await client.chat.completions.create(usual).catch(() => null)
  shop.one.script(scripts.errorAfter(3, { error: { message: 'The spoken words.' } }))
  await Array.fromAsync(await client.chat.completions.create({ ...usual, stream: true })).catch(() => null)
  const { body: { data } } = await admin(gateway, '/requests')
  t.equal(data.length, 3)
  t.notMatch(JSON.stringify([data, gateway.lines]), /spoken/)
})

for (const words of ['on', 'off']) {
  t.test(`an answer that is not JSON is not quoted in the log, with words ${words}`, async t => {
    const shop = await open(t, { env: { TOLLGATE_PROVIDER_WORDS: words } })
    const gateway = first(shop)
    for (const upstream of [shop.one, shop.two]) upstream.script(document('Mimi has PIN 4711'))
    const error: unknown = await clients['openai 7'](gateway).chat.completions.create(usual).catch(error => error)
    t.match(error, { status: 502 })
    gateway.app.log.warn({ err: new UpstreamError('bad_reply', 'yes', `Job of ${secrets}`) }, 'a job cannot be polled')
    t.match(await gateway.line(({ msg }) => msg === 'a job cannot be polled'), { err: { kind: 'bad_reply', message: /./ } })
    t.notMatch(JSON.stringify(gateway.lines), hidden)
    t.notMatch(JSON.stringify(gateway.lines), /Mimi/)
  })
}

t.test('what a client sends as the model is cut and redacted', async t => {
  const shop = await open(t)
  const gateway = first(shop)
  const client = clients['openai 7'](gateway)
  for (const model of ['sk-proj-abcDEF1234567890', 'm'.repeat(1000)]) {
    await client.chat.completions.create({ ...usual, model }).catch(() => null)
  }
  const { body: { data } } = await admin(gateway, '/requests')
  t.same(data.map(({ model_asked: asked }) => asked), [`${'m'.repeat(128)}…`, '[redacted]'])
  const lines = gateway.lines.filter(({ asked }) => asked !== undefined)
  t.same(lines.map(({ asked }) => asked), ['[redacted]', `${'m'.repeat(128)}…`])
})

t.test('a whole answer that came at once has one attempt', async t => {
  const shop = await open(t)
  const gateway = first(shop)
  shop.one.script(reply())
  await clients['openai 7'](gateway).chat.completions.create(usual)
  const { body: { data: [row] } } = await admin(gateway, '/requests')
  t.match(row, { attempts: [{ provider: 'one', status: 200, failure: null, code: null, words: null }] })
  t.equal((row?.attempts as object[]).length, 1)
})
