import fc from 'fast-check'
import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ModelConfig, PolicyConfig } from '../../../services/config/catalogue/types.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import type { RankedModel } from '../../../services/routing/rank.ts'
import { domains } from '../../../services/routing/scoring/weights.ts'
import { extractFeatures } from '../../../services/routing/request-features.ts'
import { routingRequest, modelOf, policiesWith, routerOf } from './helper.ts'

const ids = Array.from({ length: 12 }, (_, at) => `m${at}`)
const policyIds = ['auto', 'auto:cost', 'auto:quality', 'auto:speed']
const mostly = fc.integer({ min: 0, max: 5 }).map(number => number > 0)
const price = fc.integer({ min: 0, max: 60_000 }).map(cents => cents / 1000)

const model = fc.record({
  id: fc.constantFrom(...ids),
  kind: fc.constantFrom(
    'chat' as const, 'chat' as const, 'chat' as const, 'image' as const, 'video' as const
  ),
  input: price,
  output: price,
  isPriced: mostly,
  contextWindow: fc.constantFrom(null, 1000, 8000, 128_000),
  maxOutput: fc.constantFrom(null, 500, 8000),
  capabilities: fc.record({
    tools: mostly,
    vision: mostly,
    audio: mostly,
    files: mostly,
    jsonSchema: mostly,
    reasoning: mostly,
    streaming: mostly
  }),
  quality: fc.integer({ min: 30, max: 99 }),
  firstTokenMs: fc.integer({ min: 50, max: 9000 }),
  tokensPerSecond: fc.integer({ min: 5, max: 500 }),
  works: mostly
})

const catalogue = fc.uniqueArray(model, { minLength: 1, maxLength: 12, selector: ({ id }) => id })

const request = fc.record({
  text: fc.oneof(fc.string(), fc.lorem({ maxCount: 40 })),
  /** How often the text is repeated: conversations that fit no window, some or all. */
  times: fc.constantFrom(1, 1, 1, 150),
  part: fc.constantFrom(null, 'image_url', 'input_audio', 'file'),
  max_tokens: fc.constantFrom(undefined, 10, 900, 20_000),
  tools: fc.boolean(),
  schema: fc.boolean(),
  stream: fc.boolean()
})

const policy = fc.constantFrom(...policyIds)
const text = fc.lorem({ maxCount: 30 })

type Value<Source> = Source extends fc.Arbitrary<infer Found> ? Found : never
type Sizes = 'contextWindow' | 'maxOutput'
type Facts = Omit<Value<typeof model>, Sizes> & Pick<ModelConfig, Sizes>
type RequestFacts = Omit<Value<typeof request>, 'max_tokens'> & { max_tokens: number | undefined }

function toModels (facts: readonly Facts[]): ModelConfig[] {
  return facts.map(({ isPriced, quality, firstTokenMs, tokensPerSecond, works, ...rest }) => {
    const own = Object.fromEntries(domains.map(domain => [domain, quality / 100]))
    const made = modelOf({ ...rest, quality: own })
    return isPriced ? made : { ...made, price: null }
  })
}

function toRequest (
  { text: once, times, part, schema, tools, max_tokens: most, stream }: RequestFacts
): Partial<ChatCompletionRequest> {
  const text = once.repeat(times)
  const content = part === null
    ? text
    : [{ type: 'text', text }, { type: part, [part]: { url: 'https://a.test/', data: '', format: 'wav' } }]
  return {
    messages: [{ role: 'user', content }] as ChatCompletionRequest['messages'],
    stream,
    ...(most === undefined ? {} : { max_tokens: most }),
    ...(tools ? { tools: [{ type: 'function', function: { name: 'find' } }] } : {}),
    ...(schema ? { response_format: { type: 'json_schema', json_schema: { name: 'a' } } } : {})
  }
}

/** Written again from what is promised, not from how it is done. */
function isAllowed (
  one: Facts, body: RequestFacts, promptTokens: number, mayUse: readonly string[]
): boolean {
  const { capabilities: can } = one
  return one.kind === 'chat' && one.isPriced && mayUse.includes(one.id) && one.id !== 'm0' &&
    (body.part !== 'image_url' || can.vision) && (body.part !== 'input_audio' || can.audio) &&
    (body.part !== 'file' || can.files) && (
    !body.tools || can.tools
  ) && (!body.schema || can.jsonSchema) &&
    (
      !body.stream || can.streaming
    ) && promptTokens + (body.max_tokens ?? 0) <= (one.contextWindow ?? 8192) &&
    (body.max_tokens ?? 0) <= (one.maxOutput ?? Infinity)
}

t.test('no constraint is ever violated, and no request is rejected that a model could take', async t => {
  let answered = 0
  const property = fc.property(catalogue, request, policy, fc.subarray(ids, { minLength: 4 }),
    (facts, body, id, mayUse) => {
      const policies = policiesWith(id, { models: ids.filter(one => one !== 'm0') })
      const router = routerAmong(facts, policies)
      const routing = routingRequest(toRequest(body), { model: id, mayUse: one => mayUse.includes(one) })
      const { promptTokens } = extractFeatures(routing.request)
      const allowed = facts.filter(one => isAllowed(one, body, promptTokens, mayUse)).map(one => one.id)
      try {
        const decision = router.decide(routing)
        answered++
        const chosen = decision.candidates.map(one => one.id)
        const listed = new Set([...chosen, ...decision.excluded().map(one => one.model)])
        const works = chosen.map(one => facts.find(({ id }) => id === one)?.works)
        // Failing models are a last resort.
        const areAlike = new Set(works).size === 1
        return chosen.every(one => allowed.includes(one)) && areAlike &&
          listed.size === facts.filter(one => mayUse.includes(one.id)).length
      } catch (error) {
        if (!(error instanceof GatewayError) || error.status !== 400) throw error
        // A window must hold an answer as well, so it may be too small by that.
        return allowed.length === 0 || (error.message.includes('(context_window)') && body.max_tokens === undefined)
      }
    })
  fc.assert(property, { numRuns: 150 })
  t.ok(answered > 30, `${answered} decisions`)
})

const useful = model.map(one => ({
  ...one,
  kind: 'chat' as const,
  isPriced: true,
  works: true,
  contextWindow: 128_000,
  maxOutput: null,
  capabilities: { ...one.capabilities, streaming: true }
}))
const usable = fc.uniqueArray(useful, { minLength: 2, maxLength: 8, selector: ({ id }) => id })

/** A router among these models, each as fast as it says. */
function routerAmong (facts: readonly Facts[], policies?: PolicyConfig[]) {
  const states = Object.fromEntries(facts.map(one => [one.id, one]))
  return routerOf({ models: toModels(facts), states, ...(policies === undefined ? {} : { policies }) })
}

function chosenFrom (facts: readonly Facts[], text: string, id: string): string {
  return routerAmong(facts).decide(routingRequest(text, { model: id })).candidates[0]?.id ?? ''
}

const better: Record<string, (one: Facts, by: number) => Facts> = {
  cheaper: (one, by) => ({ ...one, input: one.input / by, output: one.output / by }),
  'better at answering': (one, by) => ({ ...one, quality: Math.min(99, one.quality + by) }),
  faster: (one, by) => ({
    ...one, firstTokenMs: one.firstTokenMs / by, tokensPerSecond: one.tokensPerSecond * by
  })
}

for (const [name, improve] of Object.entries(better)) {
  t.test(`a model that becomes ${name} stays the first, and one that becomes the opposite does not become it`, async t => {
    const factor = fc.integer({ min: 2, max: 30 })
    const property = fc.property(usable, text, policy, factor, fc.nat(),
      (facts, text, id, by, at) => {
        const changed = facts[at % facts.length] as Facts
        const improved = facts.map(one => one === changed ? improve(one, by) : one)
        return chosenFrom(facts, text, id) !== changed.id || chosenFrom(improved, text, id) === changed.id
      })
    fc.assert(property, { numRuns: 60 })
    t.pass()
  })
}

t.test('the decision does not depend on the order of the models', async t => {
  const property = fc.property(usable, text, policy, fc.nat(), (facts, text, id, turn) => {
    const choices = new Set<string>()
    const rotated = [...facts.slice(turn % facts.length), ...facts.slice(0, turn % facts.length)]
    for (const models of [facts, facts, rotated]) choices.add(chosenFrom(models, text, id))
    return choices.size === 1
  })
  fc.assert(property, { numRuns: 50 })
  t.pass()
})

const limits = fc.constantFrom(undefined, 10, 900, 20_000)

t.test('auto:cost expects at most the cost and quality of auto, and auto at most those of auto:quality', async t => {
  const property = fc.property(usable, text, limits, (facts, text, limit) => {
    const router = routerAmong(facts)
    const messages = [{ role: 'user' as const, content: text }]
    const body = limit === undefined ? { messages } : { messages, max_tokens: limit }
    const [cost, auto, quality] = ['auto:cost', 'auto', 'auto:quality'].map(model => {
      return router.decide(routingRequest(body, { model })).ranked[0] as RankedModel
    })
    return isNoMore(cost, auto) && isNoMore(auto, quality)
  })
  fc.assert(property, { numRuns: 300, endOnFailure: true })
  t.pass()
})

function isNoMore (one: RankedModel | undefined, other: RankedModel | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.costNano <= other.costNano && one.quality <= other.quality
}

t.test('removing a model that is not chosen, or adding one that is not, changes no choice', async t => {
  let removed = 0
  const property = fc.property(usable, text, policy, fc.nat(), (facts, text, id, at) => {
    const chosen = chosenFrom(facts, text, id)
    const others = facts.filter(one => one.id !== chosen)
    const leaving = others[at % others.length]
    const without = facts.filter(one => one !== leaving)
    if (leaving !== undefined) removed++
    return chosenFrom(without, text, id) === chosen
  })
  fc.assert(property, { numRuns: 300, endOnFailure: true })
  t.ok(removed > 200, `${removed} were removed`)
})

t.test('a model of any price that is never chosen does not change what the others cost', async t => {
  const facts = [
    { id: 'm1', input: 0.1, output: 0.4, quality: 70 },
    { id: 'm2', input: 2, output: 8, quality: 85 },
    { id: 'm3', input: 150, output: 600, quality: 80 }
  ]
  const models = facts.map(({ quality, ...rest }) => modelOf({
    ...rest, quality: Object.fromEntries(domains.map(domain => [domain, quality / 100]))
  }))
  for (const id of policyIds) {
    const firsts = [models, models.slice(0, 2)].map(pool => {
      return routerOf({ models: pool }).decide(routingRequest('What is a gateway?', { model: id })).ranked[0]
    })
    t.strictSame(firsts[0], firsts[1], id)
  }
})
