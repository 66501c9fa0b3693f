import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { thrown } from '../../thrown.ts'
import { ask, modelOf, policiesWith, routerOf, type ModelFacts } from './helper.ts'
import type { RoutingRequest } from '../../../services/routing/types.ts'
import { assumedCapabilities } from '../../../services/catalogue/models.ts'

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
  asked?: Partial<ChatCompletionRequest>
  question?: Partial<RoutingRequest>
}

const cases: Case[] = [
  { constraint: 'kind', model: { kind: 'video' } },
  { constraint: 'kind', model: { kind: 'image' } },
  { constraint: 'key', question: { mayUse: id => id !== 'unfit' } },
  { constraint: 'price', model: { price: null } as Partial<ModelFacts> },
  {
    constraint: 'context_window',
    model: { contextWindow: 1000 },
    asked: {
      messages: [{ role: 'user', content: 'word '.repeat(2000) }]
    }
  },
  { constraint: 'context_window', model: { contextWindow: 1000 }, asked: { max_tokens: 2000 } },
  {
    constraint: 'context_window',
    model: { contextWindow: null },
    asked: {
      messages: [{ role: 'user', content: 'word '.repeat(9000) }]
    }
  },
  { constraint: 'max_output', model: { maxOutput: 1000 }, asked: { max_completion_tokens: 2000 } },
  {
    constraint: 'vision',
    model: without('vision'),
    asked: parts({
      type: 'image_url', image_url: { url: 'https://x.test/a.png' }
    })
  },
  {
    constraint: 'audio',
    model: without('audio'),
    asked: parts({
      type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' }
    })
  },
  { constraint: 'audio', model: without('audio'), asked: { modalities: ['text', 'audio'] } },
  {
    constraint: 'files',
    model: without('files'),
    asked: parts({
      type: 'file', file: { file_data: 'data:;base64,AA==' }
    })
  },
  { constraint: 'tools', model: without('tools'), asked: { tools: [tool] } },
  {
    constraint: 'json_schema',
    model: without('jsonSchema'),
    asked: {
      response_format: { type: 'json_schema', json_schema: { name: 'a' } }
    }
  },
  { constraint: 'streaming', model: without('streaming'), asked: { stream: true } }
]

for (const { constraint, model = {}, asked = {}, question = {} } of cases) {
  t.test(`${constraint} removes ${JSON.stringify(model)} from ${JSON.stringify(asked).slice(0, 60)}`, async t => {
    // It would be chosen: it is free and the other one is not.
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
    const decision = router.decide(ask(asked, question))
    t.equal(decision.candidates.map(({ id }) => id).join(), 'fit')
    t.strictSame(decision.excluded(), [{ model: 'unfit', constraint }])
    const refused = thrown(() => routerOf({ models: [unfit] }).decide(ask(asked, question)))
    t.match(refused, {
      status: 400,
      code: 'no_model_qualifies',
      message: new RegExp(
      `\`unfit\` .*\\(${constraint}\\)`
      )
    })
  })
}

t.test('a deployment that fails is left alone until it works again', async t => {
  const speeds = { good: { works: true } }
  const router = routerOf({ models: [modelOf({ id: 'good' })], speeds })
  t.equal(router.decide(ask('hello')).candidates[0]?.id, 'good')
  speeds.good.works = false
  t.match(thrown(
    () => router.decide(ask('hello'))
  ), { status: 400, message: /`good` is failing at the moment \(health\)/ })
})

t.test('the list of a policy, its ceiling and the candidates of a request are kept', async t => {
  const models = [modelOf({
    id: 'cheap', input: 0.1, output: 0.1
  }), modelOf({ id: 'dear', input: 100, output: 100 })]
  const listed = routerOf({ models, policies: policiesWith('auto', { models: ['de*'] }) })
  t.strictSame(listed.decide(ask('hello')).excluded(), [{ model: 'cheap', constraint: 'policy' }])
  const capped = routerOf({ models, policies: policiesWith('auto:quality', { ceilingNano: 1_000_000 }) })
  const decision = capped.decide(ask({ max_tokens: 1000 }, { model: 'auto:quality' }))
  t.strictSame(decision.excluded(), [{ model: 'dear', constraint: 'ceiling' }])
  const chosen = routerOf({ models }).decide(ask('hello', { candidates: ['dear', 'nobody'] }))
  t.equal(chosen.candidates.map(({ id }) => id).join(), 'dear')
  t.strictSame(chosen.excluded(), [{ model: 'nobody', constraint: 'unknown' }])
})

t.test('a model that costs more than is left goes out, unless all do, which admission will say', async t => {
  const models = [modelOf({
    id: 'cheap', input: 0.1, output: 0.1
  }), modelOf({ id: 'dear', input: 100, output: 100 })]
  const router = routerOf({ models })
  t.equal(router.decide(ask({ max_tokens: 100 }, { availableNano: 1_000_000 })).candidates.length, 1)
  t.equal(router.decide(ask({ max_tokens: 100 }, { availableNano: 1 })).candidates.length, 2)
})

t.test('a policy that does not exist is a model that does not exist', async t => {
  const router = routerOf({ models: [modelOf({ id: 'one' })] })
  t.match(thrown(() => router.decide(ask(
    'hello', { model: 'auto:nothing' }
  ))), { status: 404, code: 'model_not_found' })
})
