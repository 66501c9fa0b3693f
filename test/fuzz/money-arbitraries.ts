import fc from 'fast-check'
import { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import { CompletionRequest } from '../../schemas/openai/completions.ts'
import { valid, type JsonSchema } from './arbitrary.ts'
import type { Plan, RawValue } from './hostile-provider.ts'

const textModels = ['chat', 'router', 'tiered', 'claude', 'gemini'] as const
const imageModels = ['picture', 'token-picture'] as const

/** One request of a client, and what its provider does. */
export interface Exchange {
  model: typeof textModels[number] | typeof imageModels[number]
  /** Over `/v1/completions`; only for text. */
  isLegacy: boolean
  stream: boolean
  fields: Record<string, unknown>
  /** Further parts of a chat message, or how many prompts a legacy request has beside the first. */
  more: { parts: object[], prompts: number }
  headers: Record<string, string>
  /** When the client leaves, in ms; null: it stays. */
  leavesAfterMs: number | null
  /** With the key of the account above. */
  isAbove: boolean
  plan: Plan
}

/** The money of an account, what of it is allocated to the account below, and the budget of the key there. */
export interface Wallet { creditNano: number, allocatedNano: number, budgetNano: number | null }

/** Numbers of tokens that may be right, as JSON. */
const sensible = fc.constantFrom('0', '1', '7', '100', '5000')
/** What a provider should not send as a number of tokens, as JSON. */
const hostile = fc.constantFrom(
  '-1', '0.5', '1e9', '9007199', '4294967295', '4294967297', '1e300', '-1e300', '9007199254740991', '9007199254740993',
  '1e-320', '"7"', '"NaN"', '""', 'null', 'true', '[]', '[7]', '{}', '{"tokens":7}'
)
const anything = fc.jsonValue({ maxDepth: 1 }).map(value => JSON.stringify(value))
const rawValue: fc.Arbitrary<RawValue> = fc.oneof(
  { arbitrary: sensible, weight: 4 }, { arbitrary: hostile, weight: 4 },
  { arbitrary: fc.constant(null), weight: 1 }, { arbitrary: anything, weight: 1 }
)
const seldom = <T>(arbitrary: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T | null> =>
  fc.oneof({ arbitrary: fc.constant(null), weight }, { arbitrary, weight: 1 })
const detailNames = ['cached_tokens', 'reasoning_tokens', 'audio_tokens', 'cache_write_tokens', 'web_search_requests']
const details = fc.oneof(
  fc.dictionary(fc.constantFrom(...detailNames), rawValue.filter(text => text !== null), { maxKeys: 3 })
    .map(members => `{${Object.entries(members).map(([name, text]) => `"${name}":${text}`).join()}}`),
  anything
)
const usage: fc.Arbitrary<Plan['usage']> = fc.oneof(
  {
    arbitrary: fc.record({
      prompt: sensible, completion: sensible, other: fc.constant(null), details: seldom(details)
    }),
    weight: 3
  },
  {
    arbitrary: fc.record({
      prompt: rawValue, completion: rawValue, other: seldom(rawValue), details: seldom(details)
    }),
    weight: 4
  },
  { arbitrary: fc.record({ text: fc.oneof(rawValue, anything) }), weight: 1 }
)

export const plan: fc.Arbitrary<Plan> = fc.record({
  ending: fc.oneof(
    { arbitrary: fc.constant('whole' as const), weight: 6 },
    { arbitrary: fc.constantFrom<Plan['ending'][]>('cut', 'stalled', 'reset', 'refused', 'garbage'), weight: 4 }
  ),
  // Not 429, after which the gateway pauses the deployment.
  status: fc.constantFrom(400, 401, 404, 500, 503, 529),
  texts: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 4 }),
  usage,
  isRepeated: fc.nat(9).map(dice => dice === 0),
  isInEveryChunk: fc.boolean(),
  junk: seldom(fc.oneof(anything, fc.constantFrom('{"choices":null}', '{"choices":[null]}', '{"usage":{}}')), 19),
  tier: seldom(fc.constantFrom('default', 'priority', 'flex', 'none')),
  images: fc.integer({ min: 1, max: 4 }),
  delayMs: fc.nat({ max: 15 }),
  gapMs: fc.constantFrom(0, 0, 1, 5)
})

const limit = fc.oneof(
  fc.integer({ min: 1, max: 200 }),
  fc.constantFrom(0, 1, 1e6, 2147483647, 4294967295, Number.MAX_SAFE_INTEGER, -1, 0.5)
)
const lengthNames = [
  'max_tokens', 'max_completion_tokens', 'n_predict', 'max_new_tokens', 'min_tokens', 'thinking_budget', 'MAX_TOKENS'
]
const lengths = fc.dictionary(fc.constantFrom(...lengthNames), limit, { minKeys: 1, maxKeys: 3 })
/** Fields that change what a provider does or charges. */
const costly = fc.record({
  max_tokens: limit,
  n: fc.constantFrom(1, 2, 3, 128),
  best_of: fc.constantFrom(0, 1, 2, 20),
  echo: fc.boolean(),
  service_tier: fc.constantFrom('auto', 'default', 'priority', 'flex'),
  web_search_options: fc.constantFrom({}, { search_context_size: 'high' }),
  search_parameters: fc.constantFrom({ mode: 'off' }, { mode: 'on' }),
  plugins: fc.constantFrom([], [{ id: 'web' }], [{ id: 'file-parser' }]),
  reasoning_effort: fc.constantFrom('low', 'high'),
  thinking: fc.record({ type: fc.constant('enabled'), budget_tokens: limit }),
  options: fc.record({ num_predict: limit }),
  prediction: fc.record({ type: fc.constant('content'), content: fc.string({ maxLength: 200 }) }),
  modalities: fc.constantFrom(['text'], ['text', 'audio']),
  fallbacks: fc.array(fc.constantFrom(...textModels, 'none'), { maxLength: 2 }),
  stream_options: fc.record({ include_usage: fc.boolean() }),
  temperature: fc.constantFrom(0, 1),
  other: fc.jsonValue({ maxDepth: 1 })
}, { requiredKeys: [] })

/** Some of the fields that a schema lists. */
function listedIn ({ properties }: { properties: object }): fc.Arbitrary<Record<string, unknown>> {
  const schemas = properties as Record<string, JsonSchema>
  const { model: _, messages: __, prompt: ___, stream: ____, video: _____, ...own } = schemas
  return fc.subarray(Object.keys(own), { maxLength: 3 }).chain(names =>
    fc.record(Object.fromEntries(names.map(name => [name, valid(own[name] ?? {})]))))
}

const listed = fc.oneof(listedIn(ChatCompletionRequest), listedIn(CompletionRequest))
const plain = fc.record({
  max_tokens: fc.integer({ min: 1, max: 200 }),
  stream_options: fc.record({ include_usage: fc.constant(true) })
}, { requiredKeys: ['max_tokens'] })
/** Most are such that a provider is called. */
const fields: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  { arbitrary: plain, weight: 12 }, { arbitrary: fc.constant({}), weight: 1 },
  { arbitrary: lengths, weight: 2 }, { arbitrary: costly, weight: 3 }, { arbitrary: listed, weight: 2 }
)
const dot = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9' +
  'awAAAABJRU5ErkJggg=='
const part: fc.Arbitrary<object> = fc.constantFrom(
  { type: 'text', text: 'word '.repeat(500) },
  { type: 'image_url', image_url: { url: dot } },
  { type: 'input_audio', input_audio: { data: 'AAAA'.repeat(100), format: 'wav' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' } }
)
const none: Exchange['more'] = { parts: [], prompts: 0 }
const more: fc.Arbitrary<Exchange['more']> = fc.record({
  parts: seldom(fc.array(part, { maxLength: 2 }), 6).map(parts => parts ?? []),
  prompts: seldom(fc.integer({ min: 1, max: 3 })).map(prompts => prompts ?? 0)
})
const headers: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { arbitrary: fc.constant({}), weight: 12 },
  { arbitrary: fc.nat({ max: 60 }).map(ms => ({ 'x-tollgate-deadline-ms': `${ms}` })), weight: 1 },
  { arbitrary: fc.constant({ 'x-tollgate-cache': 'on' }), weight: 1 }
)
const leavesAfterMs = seldom(fc.nat({ max: 30 }), 5)
const isAbove = fc.nat(3).map(dice => dice === 0)

const text = fc.record({
  model: fc.constantFrom(...textModels),
  isLegacy: fc.nat(3).map(dice => dice === 0),
  stream: fc.boolean(),
  fields,
  more,
  headers,
  leavesAfterMs,
  isAbove,
  plan
}).map(exchange => {
  // Refused otherwise, which would hide whatever else the request has.
  const { stream_options: options, ...others } = exchange.fields
  return options === undefined || exchange.stream ? exchange : { ...exchange, fields: others }
})
const image = fc.record({
  model: fc.constantFrom(...imageModels),
  isLegacy: fc.constant(false),
  stream: fc.constant(false),
  fields: fc.record({
    n: fc.constantFrom(1, 2, 3),
    size: fc.constantFrom('auto', '64x64', '96x64'),
    quality: fc.constantFrom('low', 'high', 'auto')
  }, { requiredKeys: [] }),
  more: fc.constant(none),
  headers,
  leavesAfterMs,
  isAbove,
  plan
})

/** Requests that one account sends at the same time. */
export const exchanges: fc.Arbitrary<Exchange[]> = fc.array(
  fc.oneof({ arbitrary: text, weight: 5 }, { arbitrary: image, weight: 1 }), { minLength: 1, maxLength: 6 })

const usd = 1_000_000_000
export const wallets: fc.Arbitrary<Wallet> = fc.record({
  creditNano: fc.constantFrom(1, 0.001 * usd, usd, usd, usd, usd, 100 * usd),
  share: fc.constantFrom(1, 1, 2, 10),
  budgetNano: seldom(fc.constantFrom(1, 0.001 * usd, usd, usd), 3)
}).map(({ creditNano, share, budgetNano }) => {
  return { creditNano, allocatedNano: Math.max(1, creditNano / share), budgetNano }
})
/** Rich enough for every example. */
export const rich: Wallet = { creditNano: usd, allocatedNano: usd, budgetNano: null }

/** An answer with a usage from each protocol, whole and streamed. */
export function withUsage (prompt: RawValue, completion: RawValue, other: RawValue = null): Exchange[] {
  const plan: Plan = {
    ending: 'whole',
    status: 400,
    texts: ['one ', 'two'],
    usage: { prompt, completion, other, details: null },
    isRepeated: false,
    isInEveryChunk: false,
    junk: null,
    tier: null,
    images: 1,
    delayMs: 0,
    gapMs: 0
  }
  const usual = { isLegacy: false, more: none, headers: {}, leavesAfterMs: null, isAbove: false, plan }
  const options = { include_usage: true }
  return textModels.flatMap(model => [false, true].map(stream => (
    { ...usual, model, stream, fields: { max_tokens: 100, ...(stream && { stream_options: options }) } })))
}
