import fc from 'fast-check'
import t from 'tap'
import { request } from 'undici'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { toMessagesRequest } from '../../../services/providers/anthropic/request.ts'
import { toGenerateContentRequest } from '../../../services/providers/gemini/request.ts'
import { dialects } from '../../../services/providers/openai/dialects.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { document, refusal, reply, startUpstream } from '../../servers/upstream.ts'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'

// Whatever a client sends, no server gets a higher output limit than the one that was held.

const numRuns = Number(process.env['FUZZ_RUNS'] ?? 40)
const upstream = await startUpstream()
t.teardown(() => upstream.close())

const price = { ...emptyPrice, inputPico: 1_000, outputPico: 1_000_000 }
const maxOutput = 5000
const providers = Object.keys(dialects).map(dialect => providerAt(upstream.url, { id: dialect, dialect }))
const gateway = await startGateway(t, {
  env: { TOLLGATE_STARTING_CREDIT: '1000000' },
  config: {
    ...configFor(providerAt(upstream.url)),
    providers,
    models: providers.flatMap(provider => [maxOutput, null].map(maxOutput => {
      const deployments = [{ provider: provider.id, model: 'some-model', weight: 1, priority: 0 }]
      const id = `${provider.id}:${maxOutput === null ? 'unknown' : 'known'}`
      return configFor(provider, { id, deployments, price, maxOutput, contextWindow: null }).models[0]!
    }))
  }
})

const name = fc.constantFrom(
  'max_tokens', 'max_completion_tokens', 'n_predict', 'num_predict', 'max_new_tokens', 'max_output_tokens', 'maxTokens',
  'maxOutputTokens', 'Max_Tokens', 'MAX_COMPLETION_TOKENS', 'max-tokens', 'max_tokens_to_sample', 'max_length',
  'min_tokens', 'min_completion_tokens', 'thinking_budget', 'reasoning_budget_tokens', 'max_to\u212aens')
const value = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
  fc.constantFrom<unknown>(0, -1, 1.5, 1e300, 2 ** 31 - 1, 2 ** 53, null, '9000', true, [9000], { a: 9000 }))
const fields = fc.dictionary(name, value, { maxKeys: 4 })
const container = fc.constantFrom(
  'options', 'extra_body', 'parameters', 'nvext', 'generation_config', 'reasoning', 'thinking')
const anyFields = fc.tuple(fields, fc.dictionary(container, fields, { maxKeys: 2 }))
  .map(([outer, inner]): Record<string, unknown> => ({ ...outer, ...inner }))

/** Every number of a body that some server could take for a number of tokens, except minimums. */
function tokenCounts (body: object): number[] {
  return Object.entries(body).flatMap(([key, value]): number[] => {
    if (key === 'messages' || key === 'prompt') return []
    if (typeof value === 'object' && value !== null) return tokenCounts(value)
    return typeof value === 'number' && /tok|tokens|predict|length|budget/i.test(key.normalize('NFKC')) ? [value] : []
  })
}

/** The least number under a name of the limit, read without any table of the gateway. */
function leastAsked (fields: Record<string, unknown>): number {
  let least = Infinity
  for (const [key, value] of Object.entries(fields)) {
    if (typeof value === 'object' && value !== null && !/^(reasoning|thinking)$/.test(key) && !Array.isArray(value)) {
      least = Math.min(least, leastAsked({ ...value }))
    } else if (typeof value === 'number' && !/min|budget/i.test(key)) least = Math.min(least, value)
  }
  return least
}

async function post (path: string, body: object): Promise<number> {
  const answer = await request(`${gateway.url}${path}`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify(body)
  })
  await answer.body.dump()
  return answer.statusCode
}

const messages: ChatCompletionRequest['messages'] = [{ role: 'user', content: 'Hi' }]

for (const dialect of Object.keys(dialects)) {
  t.test(`${dialect}: no limit that reaches the server exceeds what is held`, async t => {
    upstream.always(reply({ usage: { prompt: 1, completion: 1 } }))
    const property = fc.asyncProperty(anyFields, fc.constantFrom('known', 'unknown'), fc.boolean(), fc.boolean(),
      async (fields, kind, isLegacy, stream) => {
        const before = upstream.requests.length
        const asked = isLegacy ? { prompt: 'Hi' } : { messages }
        const path = isLegacy ? '/completions' : '/chat/completions'
        const status = await post(path, { model: `${dialect}:${kind}`, ...asked, ...fields, stream })
        if (![200, 400, 402].includes(status)) throw new Error(`the gateway answered ${status}`)
        const seen = upstream.requests.slice(before)
        if (status !== 200) return seen.length === 0
        const most = Math.min(leastAsked(fields), kind === 'known' ? maxOutput : Infinity)
        // Without a limit of the client, the balance or the legacy endpoint's default may set one.
        return seen.every(({ body }) => tokenCounts(body ?? {}).every(sent => sent <= Math.max(1, most)))
      })
    await t.resolves(fc.assert(property, { numRuns }))
  })
}

t.test('Anthropic, Gemini: the limit is the least of all', async t => {
  const readPart = () => Promise.reject(new Error('there are no files'))
  const limits = fc.dictionary(name, fc.integer({ min: 1, max: 20_000 }), { minKeys: 1, maxKeys: 4 })
  const balance = fc.option(fc.integer({ min: 1, max: 20_000 }))
  const property = fc.asyncProperty(limits, balance, async (fields, outputLimit) => {
    const call = { body: { model: 'm', messages, ...fields }, model: 'claude-sonnet-4-6', outputLimit }
    const least = Math.min(leastAsked(fields), outputLimit ?? Infinity)
    const anthropic = toMessagesRequest(call).body.max_tokens
    const gemini = (await toGenerateContentRequest({ ...call, model: 'gemini-3.5-flash' }, readPart)).body
    return anthropic <= least && (gemini.generationConfig?.maxOutputTokens ?? Infinity) <= least
  })
  await t.resolves(fc.assert(property, { numRuns: numRuns * 5 }))
})

const strict: Record<string, (body: Readonly<Record<string, unknown>>) => object | null> = {
  // As api.openai.com and FastAPI servers with closed schemas answer.
  'two limits': ({ max_tokens: one, max_completion_tokens: other }) => one === undefined || other === undefined
    ? null
    : { error: { message: 'Setting \'max_tokens\' and \'max_completion_tokens\' at the same time is not supported.' } },
  max_tokens: ({ max_tokens: limit }) => limit === undefined
    ? null
    : { error: { message: 'Unsupported parameter: \'max_tokens\'. Use \'max_completion_tokens\' instead.' } },
  max_completion_tokens: ({ max_completion_tokens: limit }) => limit === undefined
    ? null
    : { detail: [{ loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted' }] }
}

for (const [refused, refusalOf] of Object.entries(strict)) {
  t.test(`a server that refuses ${refused} gets a name it takes, and is asked only once`, async t => {
    const own = await startUpstream()
    t.teardown(() => own.close())
    own.always(exchange => {
      const error = refusalOf(exchange.request.body ?? {})
      return (error === null ? reply() : document(JSON.stringify(error), { status: 400 }))(exchange)
    })
    const { url, headers } = await startGateway(t, { config: configFor(providerAt(own.url)) })
    const ask = async (limit: number): Promise<number> => {
      const body = JSON.stringify({ model: 'chat', messages, max_tokens: limit })
      const answer = await request(`${url}/chat/completions`, { method: 'POST', headers, body })
      await answer.body.dump()
      return answer.statusCode
    }
    t.equal(await ask(50), 200)
    const learned = own.requests.length
    t.equal(await ask(60), 200)
    t.equal(own.requests.length, learned + 1)
    const last = own.requests.at(-1)?.body ?? {}
    t.equal(tokenCounts(last).length, 1, 'one limit')
    t.same(tokenCounts(last), [60])
  })
}

t.test('a limit that a server finds too high is not sent again', async t => {
  const own = await startUpstream()
  t.teardown(() => own.close())
  own.always(refusal(400, { message: '\'max_tokens\' or \'max_completion_tokens\' is too large: 5000.' }))
  const { url, headers } = await startGateway(t, { config: configFor(providerAt(own.url)) })
  const body = JSON.stringify({ model: 'chat', messages, max_tokens: 50 })
  const answer = await request(`${url}/chat/completions`, { method: 'POST', headers, body })
  await answer.body.dump()
  t.equal(answer.statusCode, 400)
  t.equal(own.requests.length, 1)
})
