import t from 'tap'
import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import { routeHeader } from '../../../services/routing/describe.ts'
import { createProfile } from '../../../services/routing/scoring/profile.ts'
import { domains } from '../../../services/routing/scoring/weights.ts'
import { routingRequest, modelOf, policiesWith, routerOf, weights, type ModelFacts } from './helper.ts'

const everywhere = (share: number) => ({
  quality: Object.fromEntries(domains.map(
    domain => [domain, share]
  ))
})
const cheap = modelOf({ id: 'cheap', input: 0.1, output: 0.2, ...everywhere(0.82) })
const middle = modelOf({ id: 'middle', input: 1, output: 4, ...everywhere(0.85) })
const best = modelOf({ id: 'best', input: 10, output: 40, ...everywhere(0.95) })
const models = [best, cheap, middle]
const text = 'Explain how a combustion engine works and compare it with an electric motor.'
const firstOf = (
  router: ReturnType<typeof routerOf>, policy: string
) => router.decide(routingRequest(text, { model: policy })).candidates[0]?.id

t.test('each policy ranks by its own criterion and reports the reason', async t => {
  const router = routerOf({
    models,
    states: {
      cheap: { firstTokenMs: 900 },
      middle: {
        firstTokenMs: 50, tokensPerSecond: 900
      },
      best: { firstTokenMs: 2000 }
    }
  })
  t.equal(firstOf(router, 'auto:cost'), 'cheap')
  t.equal(firstOf(router, 'auto:quality'), 'best')
  t.equal(firstOf(router, 'auto:speed'), 'middle')
  const reasons = [
    'auto', 'auto:cost', 'auto:quality', 'auto:speed'
  ].map(model => router.decide(routingRequest(text, { model })).reason)
  t.strictSame(reasons, ['best_balance', 'cheapest_good_enough', 'best_quality', 'fastest_good_enough'])
})

t.test('one weight in the configuration sets the trade-off of a policy', async t => {
  const firstAt = (costWeight: number) => firstOf(routerOf({
    models, policies: policiesWith('auto', { costWeight })
  }), 'auto')
  t.equal(firstAt(0), 'best')
  t.equal(firstAt(10), 'cheap')
})

t.test('a low price does not outweigh insufficient quality', async t => {
  const router = routerOf({ models: [{ ...cheap, quality: everywhere(0.2).quality }, middle] })
  t.equal(firstOf(router, 'auto:cost'), 'middle')
})

t.test('a profile comes from the operator, the training data or the catalogue, in this order', async t => {
  const known = (id: string, more = {}) => routerOf({
    models: [
      modelOf({ id, ...more })
    ]
  }).decide(routingRequest('Prove that there are infinitely many primes.')).ranked[0]?.quality ?? 0
  t.ok(known('gpt-4o-2024-08-06') > known('llama-3.1-8b') + 0.1, 'trained')
  t.ok(known('some/Meta-Llama-3.1-8B-Instruct') === known('llama-3.1-8b'), 'under its other names too')
  t.ok(known(
    'new-model', { input: 10, output: 40 }
  ) > known('new-model', { input: 0.05, output: 0.1 }), 'by price')
  t.ok(known('new-70b') > known('new-3b'), 'by size')
  t.ok(known('llama-3.1-8b', everywhere(0.99)) > known('gpt-4o-2024-08-06'), 'the operator knows better')
})

const userMessage: ChatMessage = { role: 'user', content: text }
const answered: ChatMessage = { role: 'assistant', content: 'It burns fuel.' }
const called: ChatMessage = {
  role: 'assistant',
  content: null,
  tool_calls: [{
    id: 'c', type: 'function', function: { name: 'f', arguments: '{}' }
  }]
}
const result: ChatMessage = { role: 'tool', tool_call_id: 'c', content: '42' }

t.test('a conversation sticks to its model while another one is only slightly better', async t => {
  const twin = modelOf({ id: 'a-twin', input: 0.99, output: 3.96, ...everywhere(0.86) })
  const router = routerOf({ models: [middle, twin] })
  const first = router.decide(routingRequest({ messages: [userMessage] }))
  t.equal(first.candidates[0]?.id, 'a-twin')
  router.stick(first, 'middle')
  const second = router.decide(routingRequest({
    messages: [userMessage, answered, {
      role: 'user', content: 'And its cost?'
    }]
  }))
  t.match(second, { reason: 'conversation', isSticky: true })
  t.equal(second.candidates[0]?.id, 'middle')
  t.equal(router.decide(routingRequest(
    { messages: [userMessage, answered, userMessage] }, { key: 'another' }
  )).isSticky, false, 'a conversation belongs to its key')
  router.unstick(second)
  t.equal(router.decide(routingRequest({
    messages: [userMessage, answered, userMessage]
  })).candidates[0]?.id, 'a-twin', 'after a failure it may leave')
})

t.test('it switches to a much better model, and when its model no longer qualifies', async t => {
  const router = routerOf({ models })
  const first = router.decide(routingRequest({ messages: [userMessage] }, { model: 'auto:quality' }))
  router.stick(first, 'cheap')
  t.equal(router.decide(routingRequest({
    messages: [userMessage, answered, userMessage]
  }, { model: 'auto:quality' })).candidates[0]?.id, 'best')
  const blind = { ...middle, id: 'blind', capabilities: { ...middle.capabilities, vision: false } }
  const seeing = routerOf({ models: [blind, cheap] })
  seeing.stick(seeing.decide(routingRequest({ messages: [userMessage] })), 'blind')
  const image: ChatMessage = {
    role: 'user',
    content: [{
      type: 'image_url', image_url: { url: 'https://a.test/b.png' }
    }]
  }
  t.equal(seeing.decide(routingRequest({ messages: [userMessage, answered, image] })).candidates[0]?.id, 'cheap')
})

t.test('a tool loop never switches to a worse model', async t => {
  const router = routerOf({ models })
  const loop = { messages: [userMessage, called, result] }
  const decide = (more = {}) => router.decide(routingRequest(loop, { model: 'auto:cost', ...more }))
  router.stick(router.decide(routingRequest({ messages: [userMessage] }, { model: 'auto:cost' })), 'middle')
  t.match(decide(), { reason: 'tool_loop', isSticky: true })
  t.equal(decide().candidates[0]?.id, 'middle')
  t.equal(decide({
    mayUse: (id: string) => id !== 'middle'
  }).candidates[0]?.id, 'best', 'not even when its model is gone')
})

t.test('after an hour, or under another name, it is another conversation', async t => {
  let nowMs = 1
  const router = routerOf({ models, clock: () => nowMs })
  const next = { messages: [userMessage, answered, userMessage] }
  const first = router.decide(routingRequest({ messages: [userMessage] }, { conversation: 'mine' }))
  router.stick(first, first.candidates[0]?.id ?? '')
  t.equal(router.decide(routingRequest(next, { conversation: 'mine' })).isSticky, true)
  t.equal(router.decide(routingRequest(next, { conversation: 'yours' })).isSticky, false)
  nowMs += 3_600_001
  t.equal(router.decide(routingRequest(next, { conversation: 'mine' })).isSticky, false)
})

t.test('tokens in the provider\'s cache reduce the estimated cost', async t => {
  const cached = { ...middle, price: { ...middle.price, cacheReadPico: 1000 } } as typeof middle
  const router = routerOf({ models: [cached] })
  const long = { messages: [{ role: 'user' as const, content: 'word '.repeat(5000) }, answered, userMessage] }
  const before = router.decide(routingRequest(long))
  router.stick(before, 'middle')
  const after = router.decide(routingRequest(long))
  t.ok((after.ranked[0]?.costNano ?? Infinity) < (before.ranked[0]?.costNano ?? 0) / 2)
})

t.test('the header is a dictionary that describes the decision', async t => {
  const decision = routerOf({ models }).decide(routingRequest(text))
  const header = routeHeader(decision, decision.candidates[0]?.id ?? '')
  t.match(header, /^policy="auto", model="\w+", reason=best_balance, quality=0\.\d\d, basis=\w+, cost="0\.\d+", best="\w+", saved="-?[\d.]+", confidence=[01]\.\d\d, domain=\w+$/)
  t.match(routeHeader(decision, decision.candidates[1]?.id ?? ''), /reason=fallback/)
  t.match(routeHeader({
    ...decision, policy: 'auto:"x\\'
  }, 'ü"'), /policy="auto:\\"x\\\\", model="%C3%BC\\""/)
})

t.test('the domain of a request is that of its last user message, or of the one before a short one', async t => {
  const router = routerOf({ models })
  const domainOf = (...messages: ChatMessage[]) => router.decide(routingRequest({ messages })).domain
  const user = (content: string): ChatMessage => ({ role: 'user', content })
  t.equal(domainOf(user(
    'Write a python function that merges two sorted lists and returns the result.'
  )), 'code')
  t.equal(domainOf(user('Solve $x^2 - 5x + 6 = 0$ and prove that both roots are integers.')), 'math')
  t.equal(domainOf(user('Write a poem for my mother, please make it funny.')), 'chat')
  t.equal(domainOf(user('Summarize the following text and extract the names as JSON.')), 'extraction')
  t.equal(domainOf(user(
    'Расскажи мне, пожалуйста, о погоде в Москве и о том, что надеть завтра.'
  )), 'multilingual')
  t.equal(domainOf(user(
    'Write a python function that merges two sorted lists.'
  ), answered, user('Shorter.')), 'code')
  t.equal(domainOf(user('word '.repeat(60_000))), 'long_context')
})

t.test('of unmeasured models the cheaper one is expected to be faster', async t => {
  const facts = [
    { id: 'plain', input: 0.1, output: 0.4 }, { id: 'dear', input: 10, output: 40 }, { id: 'free', input: 0, output: 0 }
  ]
  const seedOf = (model: ModelFacts) => createProfile({ ...modelOf(model), names: [model.id] }, weights).seed
  const [plain, dear, free] = facts.map(seedOf)
  t.ok(plain && dear && plain.firstTokenMs < dear.firstTokenMs)
  t.ok(plain && dear && plain.tokensPerSecond > dear.tokensPerSecond)
  t.equal(free, null, 'without a price nothing is known')
  const measured = createProfile({ ...modelOf({ id: 'gpt-4o-mini', output: 100 }), names: ['gpt-4o-mini'] }, weights).seed
  t.strictSame(Object.values(measured ?? {}), weights.speeds['gpt-4o-mini'], 'a measured speed takes precedence')
})
