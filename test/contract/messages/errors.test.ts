import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { noLimits } from '../../../services/shared/limits.ts'
import { errorBody, refusal as claudeRefusal, reply as claudeReply } from '../../servers/anthropic.ts'
import { rejection } from '../../helpers/thrown.ts'
import { refusal, reply, reset, scripts, startUpstream } from '../../servers/upstream.ts'
import { anthropicAt, priced, startClaudePair } from './clients.ts'
import { generous } from '../../helpers/timeouts.ts'

// Every status as the official SDK reads it: its class, Anthropic's type, the gateway's code.

const secret = 'the password is 12345'
const failures: Readonly<Record<string, Error>> = {
  bug: new TypeError(secret),
  store: new StoreUnavailable(new Error(secret), { problem: 'unreachable' })
}
const upstream = await startUpstream()
t.teardown(() => upstream.close())
const timeouts = { ...generous, firstByteMs: 1_500, idleMs: 1_500, totalMs: 1_500 }
const provider = providerAt(upstream.url, { timeouts })
const gateway = await startGateway(t, {
  config: configFor(provider, { price: priced }),
  env: { TOLLGATE_BODY_LIMIT: '100KiB', TOLLGATE_START_CREDIT_USD: '5' },
  beforeReady: async app => {
    app.addHook('preHandler', async ({ headers }) => {
      const failure = failures[String(headers['x-fail'])]
      if (failure !== undefined) throw failure
    })
  }
})
const client = anthropicAt(gateway)
const hello = [{ role: 'user' as const, content: 'Hi' }]
// As many tokens as the upstream's answer has.
const base = { model: 'chat', max_tokens: 400, messages: hello }

/** A client of an account of its own. */
async function clientOf (id: string, { funded = true, limits = noLimits } = {}): Promise<Anthropic> {
  const { app } = gateway
  await app.accounts.create({ id })
  if (funded) await app.accounts.deposit({ id: `credit-${id}`, account: id, amountNano: 1_000_000_000 })
  return anthropicAt({ url: gateway.url, key: (await app.keys.create({ account: id, label: '', limits })).key })
}

const poor = await clientOf('poor', { funded: false })
const frozen = await clientOf('frozen')
const limited = await clientOf('limited', { limits: { ...noLimits, requestsPerMinute: 1 } })
await gateway.app.accounts.freeze('frozen', null)

/** What the SDK throws for a status. */
const classes: Readonly<Record<number, abstract new (...args: never[]) => Error>> = {
  400: Anthropic.BadRequestError,
  401: Anthropic.AuthenticationError,
  402: Anthropic.PaymentRequiredError,
  403: Anthropic.PermissionDeniedError,
  404: Anthropic.NotFoundError,
  413: Anthropic.ContentTooLargeError,
  429: Anthropic.RateLimitError,
  500: Anthropic.InternalServerError,
  502: Anthropic.InternalServerError,
  503: Anthropic.ServiceUnavailableError,
  504: Anthropic.GatewayTimeoutError,
  529: Anthropic.OverloadedError
}

const isOf = (error: unknown, status: number): boolean => error instanceof (classes[status] ?? Map)

/** The client, what it asks beside, and the status, type and code of its error. */
type Case = readonly [Anthropic, object, number, string, string | undefined]

const failing = (how: string) => anthropicAt(gateway, { defaultHeaders: { 'x-fail': how } })
const own: readonly Case[] = [
  [client, { max_tokens: 0 }, 400, 'invalid_request_error', undefined],
  [client, { speed: 'fast' }, 400, 'invalid_request_error', 'unsupported_parameter'],
  [anthropicAt({ ...gateway, key: 'sk-tg-wrong' }), {}, 401, 'authentication_error', 'invalid_api_key'],
  [poor, {}, 402, 'billing_error', 'insufficient_quota'],
  [frozen, {}, 403, 'permission_error', 'account_frozen'],
  [client, { model: 'no-such' }, 404, 'not_found_error', 'model_not_found'],
  [client, { system: 'x'.repeat(110_000) }, 413, 'request_too_large', undefined],
  [limited, {}, 429, 'rate_limit_error', 'rate_limit_exceeded'],
  [failing('bug'), {}, 500, 'api_error', undefined],
  [failing('store'), {}, 503, 'api_error', undefined]
]

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole'
  const ask = (client: Anthropic, more: object = {}) => rejection(stream
    ? client.messages.stream({ ...base, ...more }).finalMessage()
    : client.messages.create({ ...base, ...more }))

  for (const [client, more, status, type, code] of own) {
    t.test(`the gateway's own ${status} ${code ?? type}, ${how}`, async t => {
      // The file may have been loaded more than a minute ago.
      if (client === limited) await limited.messages.create(base).catch(() => {})
      const error = await ask(client, more)
      t.ok(isOf(error, status), `${status}: ${String(error)}`)
      t.match(error, { status, type, requestID: /^req_/, error: { type: 'error', error: { type }, request_id: /^req_/ } })
      t.equal(Object(error).error.request_id, Object(error).requestID)
      if (code !== undefined) t.equal(Object(error).error.error.details?.error_code, code)
      t.notOk(String(Object(error).message).includes(secret))
    })
  }

  t.test(`a provider's failures behind a translation, ${how}`, async t => {
    const cases = [
      [refusal(400), 400, 'invalid_request_error'], [refusal(401), 502, 'api_error'], [refusal(402), 502, 'api_error'],
      [refusal(403), 502, 'api_error'], [refusal(404), 404, 'not_found_error'], [refusal(413), 413, 'request_too_large'],
      [refusal(429), 429, 'rate_limit_error'], [refusal(500), 502, 'api_error'], [refusal(503), 529, 'overloaded_error'],
      [scripts.silent(), 504, 'timeout_error'], [scripts.resetBeforeHeaders(), 502, 'api_error']
    ] as const
    for (const [script, status, type] of cases) {
      upstream.script(script)
      const error = await ask(client)
      t.match(error, { status, type }, `${status} ${type}`)
      t.ok(isOf(error, status), `${status}: ${String(error)}`)
    }
  })

  t.test(`Claude's failures, ${how}`, async t => {
    const { server, client } = await startClaudePair(t)
    const expected = {
      400: [400, 'invalid_request_error'],
      401: [502, 'api_error'],
      402: [502, 'api_error'],
      403: [502, 'api_error'],
      404: [404, 'not_found_error'],
      413: [413, 'request_too_large'],
      429: [429, 'rate_limit_error'],
      500: [502, 'api_error'],
      503: [529, 'overloaded_error'],
      504: [504, 'timeout_error'],
      529: [529, 'overloaded_error']
    } as const
    for (const [given, [status, type]] of Object.entries(expected)) {
      server.script(claudeRefusal(Number(given)))
      t.match(await ask(client), { status, type, requestID: /^req_/ }, given)
    }
  })
}

t.test('a stream that breaks ends with an event that the SDK throws', async t => {
  upstream.script(reply({ text: ['One ', 'two ', 'three'] }, { cut: pieces => pieces.slice(0, 3), end: reset }))
  const error = await rejection(client.messages.stream(base).finalMessage())
  t.type(error, Anthropic.APIError)
  t.match(error, { type: 'api_error', error: { type: 'error', request_id: /^req_/ } })
  const claude = await startClaudePair(t)
  claude.server.script(claudeReply({ said: ['One two'] }, { events: events => [...events.slice(0, 4), errorBody(529)] }))
  t.match(await rejection(claude.client.messages.stream(base).finalMessage()), { type: 'overloaded_error' })
})
