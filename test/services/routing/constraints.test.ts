import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { thrown } from '../../helpers/thrown.ts'
import { routingRequest, modelOf, policiesWith, routerOf, type ModelFacts } from './helper.ts'
import type { RoutingRequest } from '../../../services/routing/types.ts'
import { assumedCapabilities } from '../../../services/config/catalogue/models.ts'

const without = (
  name: keyof typeof assumedCapabilities
) => ({ capabilities: { ...assumedCapabilities, [name]: false } })
const parts = (part: object) => ({
  messages: [{
    role: 'user',
    content: [{
      type: 'text', text: 'look'
    }, part]
  }]
}) as ChatCompletionRequest
const tool = { type: 'function' as const, function: { name: 'find' } }

interface Case {
  constraint: string
  model?: Partial<ModelFacts>
  request?: Partial<ChatCompletionRequest>
  routing?: Partial<RoutingRequest>
}

const cases: Case[] = [
  { constraint: 'kind', model: { kind: 'video' } },
  { constraint: 'kind', model: { kind: 'image' } },
  { constraint: 'price', model: { price: null } as Partial<ModelFacts> },
  {
    constraint: 'context_window',
    model: { contextWindow: 1000 },
    request: {
      messages: [{ role: 'user', content: 'word '.repeat(2000) }]
    }
  },
  { constraint: 'context_window', model: { contextWindow: 1000 }, request: { max_tokens: 2000 } },
  {
    constraint: 'context_window',
    model: { contextWindow: null },
    request: {
      messages: [{ role: 'user', content: 'word '.repeat(9000) }]
    }
  },
  { constraint: 'max_output', model: { maxOutput: 1000 }, request: { max_completion_tokens: 2000 } },
  {
    constraint: 'vision',
    model: without('vision'),
    request: parts({
      type: 'image_url', image_url: { url: 'https://x.test/a.png' }
    })
  },
  {
    constraint: 'audio',
    model: without('audio'),
    request: parts({
      type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' }
    })
  },
  { constraint: 'audio', model: without('audio'), request: { modalities: ['text', 'audio'] } },
  {
    constraint: 'files',
    model: without('files'),
    request: parts({
      type: 'file', file: { file_data: 'data:;base64,AA==' }
    })
  },
  { constraint: 'tools', model: without('tools'), request: { tools: [tool] } },
  {
    constraint: 'json_schema',
    model: without('jsonSchema'),
    request: {
      response_format: { type: 'json_schema', json_schema: { name: 'a' } }
    }
  },
  { constraint: 'streaming', model: without('streaming'), request: { stream: true } }
]

for (const { constraint, model = {}, request = {}, routing = {} } of cases) {
  t.test(`${constraint} removes ${JSON.stringify(model)} from ${JSON.stringify(request).slice(0, 60)}`, async t => {
    // Without the constraint it would go first: it is free, and the other one is not.
    const unfit = {
      ...modelOf({
        id: 'unfit',
        input: 0,
        output: 0,
        quality: {
          chat: 1, knowledge: 1, code: 1, math: 1, tools: 1, extraction: 1
        }
      }),
      ...model
    }
    const fit = modelOf({
      id: 'fit',
      input: 5,
      output: 5,
      quality: {
        chat: 0.8, knowledge: 0.8, code: 0.8, math: 0.8, tools: 0.8, extraction: 0.8
      }
    })
    const router = routerOf({ models: [unfit, fit] })
    const decision = router.decide(routingRequest(request, routing))
    t.equal(decision.candidates.map(({ id }) => id).join(), 'fit')
    t.strictSame(decision.excluded(), [{ model: 'unfit', constraint }])
    const refused = thrown(() => routerOf({ models: [unfit] }).decide(routingRequest(request, routing)))
    t.match(refused, {
      status: 400,
      code: 'no_model_qualifies',
      message: new RegExp(`\`unfit\` .*\\(${constraint}\\)`)
    })
  })
}

t.test('a model that the key may not use is shown nowhere', async t => {
  const models = [modelOf({ id: 'secret', input: 0.01, output: 0.01 }), modelOf({ id: 'own' }), modelOf({ id: 'blind', ...without('vision') })]
  const mayUse = (id: string): boolean => id !== 'secret'
  const decision = routerOf({ models }).decide(routingRequest('hello', { mayUse, candidates: ['own', 'secret'] }))
  t.strictSame(decision.candidates.map(({ id }) => id), ['own'])
  t.strictSame(decision.excluded(), [{ model: 'secret', constraint: 'unknown' }], 'only as a name that the client has sent')
  t.strictSame(routerOf({ models }).decide(routingRequest('hello', { mayUse })).excluded(), [])
  const tooLong = routingRequest({ max_tokens: 500_000 }, { mayUse })
  const refused = thrown(() => routerOf({ models }).decide(tooLong))
  t.match(refused, { message: 'No model qualifies for `auto`: `own` and `blind` have context windows too small' })
  t.notMatch(refused, { message: /secret/ })
  const none = thrown(() => routerOf({ models }).decide(routingRequest('hello', { mayUse: () => false })))
  t.match(none, { status: 400, message: 'No model qualifies for `auto`: there are no models to choose from.' })
})

t.test('a refusal names the models that came close, three for a reason, and not those beside the point', async t => {
  const many = (count: number, name: string, more: Partial<ModelFacts>) =>
    Array.from({ length: count }, (_, at) => modelOf({ id: `${name}-${at}`, ...more }))
  const models = [
    ...many(30, 'film', { kind: 'video' }), ...many(30, 'blind', without('vision')), ...many(5, 'short', { contextWindow: 1000 })
  ]
  const look = {
    ...parts({ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }), max_tokens: 2000
  }
  const refused = thrown(() => routerOf({ models }).decide(routingRequest(look)))
  t.match(refused, {
    message: 'No model qualifies for `auto`: `blind-0`, `blind-1`, `blind-2` and 27 more cannot read images (vision); ' +
      '`short-0`, `short-1`, `short-2` and 2 more have context windows too small for this conversation (context_window).'
  })
})

t.test('a refusal does not name models that the policy has not', async t => {
  const models = [modelOf({ id: 'one' }), modelOf({ id: 'film', kind: 'video' }), modelOf({ id: 'still', kind: 'image' })]
  const refused = (patterns: string[], more = {}) =>
    thrown(() => routerOf({ models, policies: policiesWith('auto', { models: patterns }) }).decide(routingRequest(more)))
  t.match(refused(['gone']), { message: 'No model qualifies for `auto`: there are no models to choose from.', param: 'model' })
  t.match(refused(['film']), { message: 'No model qualifies for `auto`: `film` is not a chat model (kind).' })
  t.match(refused(['film'], { routing: { models: ['one'] } }), {
    message: 'No model qualifies for `auto`: `one` is not on the list of this policy (policy).', param: 'model'
  })
})

t.test('a pattern chooses among curated models, unless it names others', async t => {
  const at = (provider: string, model: string) => modelOf({
    id: `${provider}/${model}`, deployments: [{ provider, model, weight: 1, priority: 0 }]
  })
  const models = [
    at('sandbox', 'chat'), at('groq', 'llama-3.3-70b-versatile'), at('groq', 'meta-llama/llama-prompt-guard-2-22m'),
    at('openai', 'gpt-4o'), at('openai', 'gpt-4o-2024-08-06'), at('anthropic', 'claude-3-opus-20240229')
  ]
  const chosen = (patterns: string[], more: Partial<RoutingRequest> = {}) =>
    routerOf({ models, policies: policiesWith('auto', { models: patterns }) })
      .decide(routingRequest('hello', more)).candidates.map(({ id }) => id).toSorted()
  t.strictSame(chosen(['*']), ['groq/llama-3.3-70b-versatile', 'openai/gpt-4o'])
  t.strictSame(chosen(['openai/*']), ['openai/gpt-4o'])
  t.strictSame(chosen(['openai/*', 'sandbox/*']), ['openai/gpt-4o', 'sandbox/chat'])
  t.strictSame(chosen(['openai/gpt-4o-2024-08-06']), ['openai/gpt-4o-2024-08-06'])
  t.strictSame(chosen(['anthropic/*', 'groq/*']), ['anthropic/claude-3-opus-20240229', 'groq/llama-3.3-70b-versatile'])
  t.strictSame(chosen(['*'], { candidates: ['openai/gpt-4o-2024-08-06', 'groq/*'] }),
    ['groq/llama-3.3-70b-versatile', 'openai/gpt-4o-2024-08-06'])
  t.strictSame(chosen(['openai/*'], { candidates: ['*'] }), ['openai/gpt-4o'])
  t.strictSame(chosen(['*'], { mayUse: id => !id.startsWith('openai') && !id.endsWith('versatile') }), ['anthropic/claude-3-opus-20240229'])
  t.strictSame(chosen(['*'], { mayUse: id => id.startsWith('sandbox') }), ['sandbox/chat'], 'or if it is all there is')
  const fast = [
    'openrouter anthropic/claude-opus-4.7', 'openrouter anthropic/claude-opus-4.7-fast', 'moonshot kimi-k2.7-code',
    'moonshot kimi-k2.7-code-highspeed', 'fireworks accounts/fireworks/models/glm-5p2', 'fireworks accounts/fireworks/routers/glm-5p2-fast',
    'xai grok-4', 'xai grok-4-fast'
  ].map(name => at(...name.split(' ') as [string, string]))
  const offered = routerOf({ models: fast }).decide(routingRequest('hello')).candidates.map(({ id }) => id).toSorted()
  t.strictSame(offered, [
    'fireworks/accounts/fireworks/models/glm-5p2', 'moonshot/kimi-k2.7-code', 'openrouter/anthropic/claude-opus-4.7', 'xai/grok-4', 'xai/grok-4-fast'
  ], 'a faster edition of a model on offer costs more and answers no better')
  const decision = routerOf({ models }).decide(routingRequest('hello'))
  t.ok(decision.excluded().some(({ model, constraint }) => model === 'sandbox/chat' && constraint === 'pool'))
})

t.test('a failing deployment is excluded, unless there is no other', async t => {
  const states = { good: { works: true }, other: { works: true } }
  const router = routerOf({ models: [modelOf({ id: 'good' }), modelOf({ id: 'other' })], states })
  states.good.works = false
  const decision = router.decide(routingRequest('hello'))
  t.same(decision.candidates.map(({ id }) => id), ['other'])
  t.match(decision.excluded(), [{ model: 'good', constraint: 'health' }])
  states.other.works = false
  t.same(router.decide(routingRequest('hello')).candidates.map(({ id }) => id).toSorted(), ['good', 'other'])
})

t.test('the models and ceiling of a policy and the candidates of a request are respected', async t => {
  const models = [modelOf({
    id: 'cheap', input: 0.1, output: 0.1
  }), modelOf({ id: 'dear', input: 100, output: 100 })]
  const listed = routerOf({ models, policies: policiesWith('auto', { models: ['de*'] }) })
  t.strictSame(listed.decide(routingRequest('hello')).excluded(), [{ model: 'cheap', constraint: 'policy' }])
  const capped = routerOf({ models, policies: policiesWith('auto:quality', { ceilingNano: 1_000_000 }) })
  const decision = capped.decide(routingRequest({ max_tokens: 1000 }, { model: 'auto:quality' }))
  t.strictSame(decision.excluded(), [{ model: 'dear', constraint: 'ceiling' }])
  const chosen = routerOf({ models }).decide(routingRequest('hello', { candidates: ['dear', 'missing'] }))
  t.equal(chosen.candidates.map(({ id }) => id).join(), 'dear')
  t.strictSame(chosen.excluded(), [{ model: 'missing', constraint: 'unknown' }])
})

t.test('a free trial is chosen if a policy names it, or if there is nothing better', async t => {
  const models = [
    'openai gpt-4o', 'nvidia google/gemma-4-31b-it', 'nvidia nvidia/llama-3.1-nemoguard-8b-content-safety', 'openrouter openai/gpt-oss-20b:free'
  ].map(name => {
    const [provider = '', model = ''] = name.split(' ')
    return modelOf({ id: `${provider}/${model}`, deployments: [{ provider, model, weight: 1, priority: 0 }] })
  })
  const chosen = (patterns: string[], from = models) => routerOf({ models: from, policies: policiesWith('auto', { models: patterns }) })
    .decide(routingRequest('hello')).candidates.map(({ id }) => id).toSorted()
  t.strictSame(chosen(['*']), ['openai/gpt-4o'])
  t.strictSame(chosen(['*'], models.slice(1)), ['nvidia/google/gemma-4-31b-it', 'openrouter/openai/gpt-oss-20b:free'])
  t.strictSame(chosen(['nvidia/*', 'openai/*']), ['nvidia/google/gemma-4-31b-it', 'openai/gpt-4o'])
  t.strictSame(chosen(['*:free', 'openai/*']), ['openai/gpt-4o', 'openrouter/openai/gpt-oss-20b:free'])
})

t.test('models that exceed the credit are excluded, unless all do, so that the hold answers 402', async t => {
  const models = [modelOf({
    id: 'cheap', input: 0.1, output: 0.1
  }), modelOf({ id: 'dear', input: 100, output: 100 })]
  const router = routerOf({ models })
  const possible = (availableNano: number) =>
    router.decide(routingRequest({ max_tokens: 100 }, { availableNano })).candidates.length
  t.equal(possible(1_000_000), 1)
  t.equal(possible(1), 2)
})

t.test('the credit must cover what is held: a file that is only named may have as many tokens as the context window', async t => {
  const models = [
    modelOf({ id: 'cheap', input: 0.1, output: 0.1 }), modelOf({ id: 'dear', input: 100, output: 100, contextWindow: 1_000_000 })
  ]
  const read = parts({ type: 'file', file: { file_id: 'file-1' } })
  const decide = (more: Partial<RoutingRequest>) => routerOf({ models }).decide(routingRequest(read, { model: 'auto:quality', ...more }))
  t.equal(decide({ availableNano: 200e9 }).candidates.length, 2)
  const decision = decide({ availableNano: 90e9 })
  t.equal(decision.candidates.map(({ id }) => id).join(), 'cheap')
  t.strictSame(decision.excluded(), [{ model: 'dear', constraint: 'credit' }])
})

t.test('an account that has spent more than it had is served by a model that costs nothing', async t => {
  const models = [modelOf({ id: 'own', input: 0, output: 0 }), modelOf({ id: 'dear', input: 10, output: 10 })]
  const decide = (availableNano: number) =>
    routerOf({ models }).decide(routingRequest('hello', { model: 'auto:quality', availableNano })).candidates.map(({ id }) => id)
  t.strictSame(decide(0), ['own'])
  t.strictSame(decide(-1), ['own'])
})

t.test('an unknown policy is answered as an unknown model', async t => {
  const router = routerOf({ models: [modelOf({ id: 'one' })] })
  t.match(thrown(() => router.decide(routingRequest(
    'hello', { model: 'auto:nothing' }
  ))), { status: 404, code: 'model_not_found' })
})
