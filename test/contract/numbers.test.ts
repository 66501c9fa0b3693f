import fc from 'fast-check'
import t from 'tap'
import type { ModelConfig } from '../../services/config/catalogue/types.ts'
import { emptyPrice } from '../../services/config/catalogue/models.ts'
import { buildGateway, configFor, providerAt } from '../helpers/gateway.ts'
import { startImageServer } from '../servers/image-server.ts'
import { reply, startUpstream } from '../servers/upstream.ts'
import { made } from './image-shop.ts'

// No number in a request makes the gateway itself fail.

const numRuns = Number(process.env['FUZZ_RUNS'] ?? 150)
const upstream = await startUpstream()
t.teardown(() => upstream.close())
upstream.always(reply({ usage: { prompt: 1, completion: 1 } }))
const imageServer = await startImageServer(t, () => made())

const text = { ...emptyPrice, inputPico: 150_000_000, outputPico: 600_000_000 }
const vastWindow = 1_000_000_000
const chatAt = providerAt(upstream.url)
const imagesAt = providerAt(imageServer.url, { id: 'pictures' })
const sandbox = providerAt('', { id: 'sandbox', protocol: 'sandbox', videoMs: 0 })
const model = (provider: typeof chatAt, id: string, more: Partial<ModelConfig>) =>
  configFor(provider, { id, ...more }).models

const { app, headers } = await buildGateway(t, {
  // Too little for a video: a request that only held money keeps from its answer would wait for it.
  env: { TOLLGATE_STARTING_CREDIT: '1' },
  config: {
    ...configFor(chatAt),
    providers: [chatAt, imagesAt, sandbox],
    models: [
      ...model(chatAt, 'unknown', { price: text, maxOutput: null, contextWindow: null }),
      ...model(chatAt, 'known', { price: text, maxOutput: 1000, contextWindow: 8000 }),
      ...model(chatAt, 'vast', { price: text, maxOutput: null, contextWindow: vastWindow }),
      ...model(chatAt, 'free', { maxOutput: null, contextWindow: null }),
      ...model(imagesAt, 'by-image', { kind: 'image', price: { ...emptyPrice, imageNano: 9_000_000_000_000 } }),
      ...model(imagesAt, 'by-token', { kind: 'image', price: text }),
      ...model(imagesAt, 'by-size', {
        kind: 'image',
        price: emptyPrice,
        images: {
          sizes: null,
          sizeRange: { min: 1, max: 99_999, multipleOf: 1, maxRatio: 100_000, maxPixels: 1e10 },
          defaultSize: null,
          qualities: null,
          prices: [{ size: null, quality: null, imageNano: 1, furtherMegapixelNano: 9_000_000_000_000 }],
          tokens: [],
          textOutputPico: null
        }
      }),
      ...model(sandbox, 'film', { kind: 'video', price: { ...emptyPrice, secondNano: 9_000_000_000_000 } })
    ]
  }
})

const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, -1, 0.1, 1e-300, 1e300, -1e300, 2 ** 31 - 1, 2 ** 53, 2 ** 63, 2 ** 64, 1e21)
).filter(Number.isFinite)
const fields = (...names: string[]) => fc.dictionary(fc.constantFrom(...names), number, { maxKeys: 3 })
const lengths = [
  'max_tokens', 'max_completion_tokens', 'n_predict', 'min_tokens', 'thinking_budget', 'n', 'best_of', 'top_k', 'seed',
  'temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs', 'logprobs', 'priority', 'ignore_eos',
  'truncate_prompt_tokens', 'num_ctx', 'service_tier'
]
const messages = [{ role: 'user', content: 'a red ball' }]
const chatModel = fc.constantFrom('unknown', 'known', 'vast', 'free', 'auto', 'auto:cost')
const size = fc.oneof(fc.constant('auto'), fc.tuple(fc.nat(99_999), fc.nat(99_999)).map(([w, h]) => `${w}x${h}`))
const header = fc.oneof(fc.constant(undefined), number.map(String))

const bodies = {
  '/v1/chat/completions': fc.tuple(chatModel, fields(...lengths), fields('num_predict', 'num_ctx')).map(
    ([model, more, options]) => ({ model, messages, ...more, options })),
  '/v1/completions': fc.tuple(chatModel, fields(...lengths)).map(
    ([model, more]) => ({ model, prompt: ['a', 'b'], ...more })),
  '/v1/images/generations': fc.tuple(fc.constantFrom('by-image', 'by-token', 'by-size'), size,
    fields('n', 'output_compression', 'partial_images', 'seed', 'steps')).map(
    ([model, size, more]) => ({ model, prompt: 'a red ball', size, ...more })),
  '/v1/chat/completions (video)': fc.tuple(fields('seconds', 'seed', 'fps'), fields('seed', 'n', 'max_tokens'), size)
    .map(([video, more, size]) => ({ model: 'film', messages, video: { ...video, size }, ...more })),
  '/v1/routing/decisions': fc.tuple(fields(...lengths)).map(([more]) => ({ model: 'auto', messages, ...more }))
}

for (const [name, body] of Object.entries(bodies)) {
  t.test(`${name}: every number gets an answer below 500`, async t => {
    const [url = ''] = name.split(' ')
    const property = fc.asyncProperty(body, header, async (payload, deadline) => {
      const more = deadline === undefined ? {} : { 'x-tollgate-deadline-ms': deadline }
      const answer = await app.inject({ method: 'POST', url, headers: { ...headers, ...more }, payload })
      // A deadline of some milliseconds may pass.
      const { statusCode, body } = answer
      if (statusCode >= 500 && statusCode !== 504) throw new Error(`${statusCode}: ${body}`)
    })
    await t.resolves(fc.assert(property, { numRuns }))
  })
}
