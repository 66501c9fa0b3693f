import t from 'tap'
import { imageProviderAt, picture, startImageServer } from '../../../servers/image-server.ts'
import { mismatch, wireFixture } from '../video-jobs/wire.ts'

const base64 = (await picture(8, 8)).toString('base64')

const openaiUsage = {
  input_tokens: 8,
  input_tokens_details: { text_tokens: 8, image_tokens: 0 },
  output_tokens: 1300,
  output_tokens_details: { text_tokens: 10, image_tokens: 1290 },
  total_tokens: 1308
}
const routerUsage = {
  prompt_tokens: 8,
  completion_tokens: 1300,
  completion_tokens_details: { image_tokens: 1290 },
  total_tokens: 1308,
  cost: 0.0387,
  is_byok: false
}
const openai = { created: 1, data: [{ b64_json: base64 }], usage: openaiUsage, quality: 'max', background: 'opaque' }

/** A dialect, the models to ask, and an answer in the types of its SDK. */
const contracts = {
  openai: { types: 'openai-images', models: ['gpt-image-2', 'gpt-image-2.6-flare'], answer: openai },
  azure: { types: 'openai-images', models: ['gpt-image-2'], answer: openai },
  together: {
    types: 'together-images',
    models: ['black-forest-labs/FLUX.1.1-pro'],
    answer: { id: 'i', object: 'list', model: 'm', data: [{ index: 0, b64_json: base64, type: 'b64_json' }] }
  },
  xai: {
    types: 'xai-images',
    models: ['grok-imagine-image', 'grok-imagine-image-2.0'],
    answer: { data: [{ b64_json: base64, revised_prompt: '' }], usage: { cost_in_usd_ticks: 387_000_000 } }
  },
  openrouter: {
    types: 'openrouter-images',
    models: ['google/gemini-3-pro-image'],
    answer: { created: 1, data: [{ b64_json: base64, media_type: 'image/png' }], usage: routerUsage }
  }
}

const wishes = {
  quality: 'medium',
  background: 'opaque',
  output_format: 'jpeg',
  output_compression: 80,
  moderation: 'low',
  style: 'vivid',
  user: 'u1'
} as const

for (const [dialect, { types, models, answer }] of Object.entries(contracts)) {
  const { request = {}, answer: answerType = {} } = wireFixture(types)

  t.test(`${dialect}: a request with every option has the types of the SDK`, async t => {
    t.equal(mismatch(answerType, answer), '', 'the answer of the mock')
    const { seen, url } = await startImageServer(t, () => ({ json: answer }))
    const make = imageProviderAt(t, url, { dialect })
    for (const model of models) {
      for (const [width, height] of [[1024, 1024], [1344, 768], [2048, 2048], []]) {
        const size = width === undefined || height === undefined ? null : { width, height }
        const seed = dialect === 'openai' || dialect === 'azure' ? {} : { seed: 7 }
        const asked = { ...wishes, ...seed, response_format: 'url', n: 2 } as const
        const made = await make({ model, size, quality: 'medium', count: 2 }, asked)
        const { body } = seen.at(-1) ?? {}
        t.equal(mismatch(request, body), '', `${model} ${JSON.stringify(body)}`)
        const missing = Object.keys({ ...wishes, ...seed }).filter(name => body?.[name] === undefined)
        const left = missing.filter(name => !made.dropped.includes(name) && !name.startsWith('output_'))
        t.same(left, [], `${model}: the answer names what was dropped`)
        t.ok(made.usage !== null || made.costNano !== null || dialect === 'together')
      }
    }
  })
}

t.test('the quality that a price depends on is sent', async t => {
  for (const dialect of ['openai', 'azure', 'xai', 'openrouter'] as const) {
    const { seen, url } = await startImageServer(t, () => ({ json: contracts[dialect].answer }))
    await imageProviderAt(t, url, { dialect })({ model: contracts[dialect].models[0], quality: 'low' }, { quality: 'low' })
    t.equal(seen[0]?.body.quality, 'low', dialect)
  }
})

t.test('OpenRouter: with the operator\'s own key, the provider\'s charge is added to the fee', async t => {
  const details = {
    upstream_inference_cost: 0.04,
    upstream_inference_prompt_cost: 0,
    upstream_inference_completions_cost: 0.04
  }
  const usage = { ...routerUsage, cost: 0.002, is_byok: true }
  for (const [more, costNano] of [[{ cost_details: details }, 42_000_000], [{}, null]] as const) {
    const answer = { ...contracts.openrouter.answer, usage: { ...usage, ...more } }
    t.equal(mismatch(wireFixture('openrouter-images').answer ?? {}, answer), '')
    const { url } = await startImageServer(t, () => ({ json: answer }))
    t.equal((await imageProviderAt(t, url, { dialect: 'openrouter' })()).costNano, costNano)
  }
})
