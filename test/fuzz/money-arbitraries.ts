import fc from 'fast-check'
import type { Plan, RawValue } from './hostile-provider.ts'

/** One request of a client, and what its provider does. */
export interface Exchange {
  model: 'chat' | 'router' | 'claude' | 'gemini' | 'picture' | 'token-picture'
  /** Over `/v1/completions`; only for text. */
  isLegacy: boolean
  stream: boolean
  fields: Record<string, unknown>
  /** When the client leaves, in ms; null: it stays. */
  leavesAfterMs: number | null
  plan: Plan
}

/** Numbers of tokens that may be right, as JSON. */
const sensible = fc.constantFrom('0', '1', '7', '100', '5000')
/** What a provider should not send as a number of tokens, as JSON. */
const hostile = fc.constantFrom(
  '-1', '0.5', '1e9', '4294967295', '4294967297', '1e300', '-1e300', '9007199254740991', '9007199254740993', '1e-320',
  '"7"', '"NaN"', '""', 'null', 'true', '[]', '[7]', '{}', '{"tokens":7}'
)
const anything = fc.jsonValue({ maxDepth: 1 }).map(value => JSON.stringify(value))
const rawValue: fc.Arbitrary<RawValue> = fc.oneof(
  { arbitrary: sensible, weight: 4 }, { arbitrary: hostile, weight: 4 },
  { arbitrary: fc.constant(null), weight: 1 }, { arbitrary: anything, weight: 1 }
)
const other = fc.oneof({ arbitrary: fc.constant(null), weight: 4 }, { arbitrary: rawValue, weight: 1 })
const usage: fc.Arbitrary<Plan['usage']> = fc.oneof(
  { arbitrary: fc.record({ prompt: sensible, completion: sensible, other: fc.constant(null) }), weight: 3 },
  { arbitrary: fc.record({ prompt: rawValue, completion: rawValue, other }), weight: 4 },
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
  delayMs: fc.nat({ max: 15 })
})

const limit = fc.oneof(
  fc.integer({ min: 1, max: 200 }),
  fc.constantFrom(0, 1, 1e6, 2147483647, 4294967295, Number.MAX_SAFE_INTEGER, -1, 0.5)
)
/** Fields of chat that change what a provider does, and junk. */
const fields = fc.record({
  max_tokens: limit,
  max_completion_tokens: limit,
  n_predict: limit,
  n: fc.constantFrom(1, 2, 3, 128),
  best_of: fc.constantFrom(1, 2),
  temperature: fc.constantFrom(0, 1),
  service_tier: fc.constantFrom('auto', 'priority'),
  reasoning_effort: fc.constantFrom('low', 'high'),
  stream_options: fc.record({ include_usage: fc.boolean() }),
  user: fc.string({ maxLength: 8 }),
  other: fc.jsonValue({ maxDepth: 1 })
}, { requiredKeys: [] })
const imageFields = fc.record({
  n: fc.constantFrom(1, 2, 3),
  size: fc.constantFrom('auto', '64x64', '96x64'),
  quality: fc.constantFrom('low', 'high', 'auto')
}, { requiredKeys: [] })

const textModels = ['chat', 'router', 'claude', 'gemini'] as const
const leavesAfterMs = fc.oneof(
  { arbitrary: fc.constant(null), weight: 5 }, { arbitrary: fc.nat({ max: 30 }), weight: 1 })
const plain = fc.record({ max_tokens: fc.integer({ min: 1, max: 200 }) })

const text = fc.record({
  model: fc.constantFrom(...textModels),
  isLegacy: fc.nat(3).map(dice => dice === 0),
  stream: fc.boolean(),
  fields: fc.oneof({ arbitrary: plain, weight: 4 }, { arbitrary: fields, weight: 1 }),
  leavesAfterMs,
  plan
})
const image = fc.record({
  model: fc.constantFrom('picture' as const, 'token-picture' as const),
  isLegacy: fc.constant(false),
  stream: fc.constant(false),
  fields: imageFields,
  leavesAfterMs,
  plan
})

/** Requests that one account sends at the same time. */
export const exchanges: fc.Arbitrary<Exchange[]> = fc.array(
  fc.oneof({ arbitrary: text, weight: 5 }, { arbitrary: image, weight: 1 }), { minLength: 1, maxLength: 6 })

/** An answer with a usage from each protocol, whole and streamed. */
export function withUsage (prompt: RawValue, completion: RawValue): Exchange[] {
  const plan: Plan = {
    ending: 'whole',
    status: 400,
    texts: ['one ', 'two'],
    usage: { prompt, completion, other: null },
    isRepeated: false,
    isInEveryChunk: false,
    delayMs: 0
  }
  return textModels.flatMap(model => [false, true].map(stream => (
    { model, isLegacy: false, stream, fields: { max_tokens: 100 }, leavesAfterMs: null, plan })))
}
