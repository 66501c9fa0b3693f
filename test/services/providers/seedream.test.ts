import t from 'tap'
import { failureOf, imageProviderAt, startImageServer, type Reply, type Seen } from '../../servers/image-server.ts'

const apis = {
  seedance: {
    model: 'seedream-4-5-251128',
    path: '/v1/images/generations',
    size: { width: 2560, height: 1440 },
    body: {
      model: 'seedream-4-5-251128',
      prompt: 'A fox',
      size: '2560x1440',
      seed: 1,
      response_format: 'url',
      sequential_image_generation: 'disabled',
      watermark: false
    },
    made: (url: string) => ({ data: [{ url: `${url}/1.png`, size: '2560x1440' }], usage: { generated_images: 1 } }),
    small: /3686400 to 16777216 pixels, not 512x512/,
    moderated: { error: { code: 'InputTextSensitiveContentDetected', message: 'No.' } }
  },
  wan: {
    model: 'qwen-image-plus',
    path: '/v1/services/aigc/multimodal-generation/generation',
    size: { width: 1664, height: 928 },
    body: {
      model: 'qwen-image-plus',
      input: { messages: [{ role: 'user', content: [{ text: 'A fox' }] }] },
      parameters: { size: '1664*928', seed: 1, n: 1, watermark: false }
    },
    made: (url: string) => ({
      output: { choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: [{ image: `${url}/1.png` }] } }] },
      usage: { image_count: 1 }
    }),
    small: /1664x928, 1328x1328, 928x1664, not 512x512/,
    moderated: { code: 'DataInspectionFailed', message: 'No.', request_id: 'r' }
  }
}

for (const protocol of ['seedance', 'wan'] as const) {
  const api = apis[protocol]
  t.test(`${api.model}: one call for each image, with what was priced`, async t => {
    const server = await startImageServer(t, (_: Seen, url): Reply => ({ json: api.made(url) }))
    const make = imageProviderAt(t, `${server.url}/v1`, { protocol })
    const { model, size } = api
    const made = await make({ model, size, count: 2 }, { seed: 1, max_images: 5, sequential_image_generation: 'auto' })
    t.equal(server.seen.length, 2)
    t.match(server.seen[0], { path: api.path, headers: { authorization: 'Bearer sk-upstream-secret' } })
    t.same(server.seen[0]?.body, api.body)
    const image = { url: `${server.url}/1.png`, revisedPrompt: null }
    t.same(made.images, [image, image])
    t.same(made.dropped.toSorted(), ['max_images', 'sequential_image_generation'])
    const refused = await failureOf(make({ model, size: { width: 512, height: 512 } }))
    t.match(refused, { kind: 'bad_request', sent: 'no', details: { param: 'size' }, message: api.small })
    t.equal(server.seen.length, 2)
  })

  t.test(`${api.model}: refusals and empty responses`, async t => {
    const server = await startImageServer(t, ({ body }: Seen): Reply =>
      JSON.stringify(body).includes('bad') ? { status: 400, json: api.moderated } : { json: {} })
    const make = imageProviderAt(t, `${server.url}/v1`, { protocol })
    t.match(await failureOf(make({ model: api.model }, { prompt: 'bad' })), { kind: 'moderated', sent: 'yes' })
    t.match(await failureOf(make({ model: api.model })), { kind: 'bad_reply' })
  })
}

t.test('newer models: what they take, and their pixels', async t => {
  const server = await startImageServer(t, ({ path }: Seen, url): Reply =>
    ({ json: apis[path.endsWith('/images/generations') ? 'seedance' : 'wan'].made(url) }))
  const ark = imageProviderAt(t, `${server.url}/v1`, { protocol: 'seedance' })
  const [pro, qwen] = ['dola-seedream-5-0-pro-260628', 'qwen-image-3.0-pro'] as const
  await ark({ model: pro, size: { width: 1024, height: 1024 } })
  t.equal(server.seen[0]?.body.sequential_image_generation, undefined)
  t.match(await failureOf(ark({ model: pro, size: { width: 4096, height: 4096 } })), { message: /921600 to 4624220/ })
  const studio = imageProviderAt(t, `${server.url}/v1`, { protocol: 'wan' })
  await studio({ model: qwen, size: { width: 1536, height: 1024 } })
  t.match(server.seen[1]?.body, { parameters: { size: '1536*1024' } })
  t.match(await failureOf(studio({ model: qwen, size: { width: 4096, height: 4096 } })), { message: /262144 to 4194304/ })
})

t.test('Qwen-Image: an error with status 200 is one', async t => {
  const server = await startImageServer(t, (): Reply =>
    ({ json: { code: 'DataInspectionFailed', message: 'Inappropriate content.', request_id: 'r' } }))
  const make = imageProviderAt(t, `${server.url}/v1`, { protocol: 'wan' })
  t.match(await failureOf(make({ model: 'qwen-image-plus' })), { kind: 'moderated', message: 'Inappropriate content.' })
})

t.test('Seedream: an error in place of an image', async t => {
  const error = { code: 'OutputImageSensitiveContentDetected', message: 'No.' }
  for (const json of [{ data: [{ error }] }, { data: [], error }]) {
    const server = await startImageServer(t, (): Reply => ({ json }))
    const make = imageProviderAt(t, `${server.url}/v1`, { protocol: 'seedance' })
    t.match(await failureOf(make({ model: 'seedream-4-5-251128' })), { kind: 'moderated', sent: 'yes', message: 'No.' })
  }
})
