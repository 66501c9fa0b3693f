import t, { type Test } from 'tap'
import type { ProviderConfig } from '../../../../services/config/catalogue/types.ts'
import { failureOf, imageProviderAt, picture, startImageServer, type Reply, type Seen } from '../../../servers/image-server.ts'
import { generous } from '../../../helpers/timeouts.ts'

const png = await picture(8, 8)
const base64 = png.toString('base64')
const one = { json: { created: 1, data: [{ b64_json: base64 }] } }
const key = 'sk-upstream-secret'

type Answering = (seen: Seen, url: string) => Reply

async function start (t: Test, more: Partial<ProviderConfig>, reply: Answering = () => one) {
  const server = await startImageServer(t, reply)
  return { server, make: imageProviderAt(t, server.url, more) }
}

const usage = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 40, image_tokens: 10 },
  output_tokens: 4160,
  total_tokens: 4210
}

t.test('gpt-image models get no response_format and answer with bytes', async t => {
  const answer = { json: { created: 1, data: [{ b64_json: base64 }], usage, quality: 'high', background: 'opaque' } }
  const { server, make } = await start(t, { dialect: 'openai' }, () => answer)
  const made = await make({ model: 'gpt-image-1.5', size: { width: 1536, height: 1024 }, quality: 'high', count: 2 }, {
    model: 'pictures',
    n: 2,
    size: '1536x1024',
    quality: 'high',
    response_format: 'url',
    style: 'vivid',
    background: 'opaque',
    output_format: 'webp',
    output_compression: 80,
    moderation: 'low',
    user: 'u1',
    stream: null,
    seed: 7,
    width: 9000
  })
  t.same(server.seen[0]?.body, {
    model: 'gpt-image-1.5',
    prompt: 'A fox',
    n: 2,
    size: '1536x1024',
    quality: 'high',
    background: 'opaque',
    output_format: 'webp',
    output_compression: 80,
    moderation: 'low',
    user: 'u1',
    seed: 7
  })
  t.equal(server.seen[0]?.path, '/images/generations')
  t.equal(server.seen[0]?.headers.authorization, `Bearer ${key}`)
  t.same(made.usage, { inputText: 40, inputImage: 10, output: 4160, outputText: 0 })
  t.same(made.dropped.toSorted(), ['style', 'width'], 'a size by another name is not slipped in')
  t.same(made.chosen, { quality: 'high', background: 'opaque' })
  t.same(made.images, [{ bytes: png, revisedPrompt: null }])
})

t.test('an unset size and quality are left to the provider', async t => {
  const { server, make } = await start(t, { dialect: 'openai' })
  await make({}, { size: 'auto', quality: 'auto', n: null })
  t.same(server.seen[0]?.body, { model: 'picture', prompt: 'A fox', n: 1 })
})

t.test('each dialect has its own image request', async t => {
  const size = { width: 1344, height: 768 }
  const cases = {
    compatible: { count: 2, bodies: [{ n: 2, size: '1344x768', response_format: 'b64_json' }] },
    together: {
      count: 6,
      bodies: [
        { n: 4, width: 1344, height: 768, response_format: 'base64', size: undefined },
        { n: 2, width: 1344, height: 768 }
      ]
    },
    xai: {
      count: 2,
      bodies: [{ n: 2, aspect_ratio: '16:9', resolution: '1k', response_format: 'b64_json', size: undefined }]
    },
    openrouter: { count: 2, bodies: [{ n: 1, size: '1344x768' }, { n: 1, size: '1344x768' }] }
  }
  for (const [dialect, { count, bodies }] of Object.entries(cases)) {
    const { server, make } = await start(t, { dialect }, ({ body }) => {
      return { json: { data: Array.from({ length: Number(body.n) }, () => ({ b64_json: base64 })) } }
    })
    const made = await make({ size, count })
    t.equal(made.images.length, count, dialect)
    const sent = server.seen.map(({ body }) => body).toSorted((a, b) => Number(b.n) - Number(a.n))
    t.equal(sent.length, bodies.length, dialect)
    t.match(sent, bodies, dialect)
    t.equal(server.seen[0]?.path, dialect === 'openrouter' ? '/images' : '/images/generations')
  }
})

t.test('reported costs are read', async t => {
  const ticks = await start(t, { dialect: 'xai' }, () => {
    return { json: { data: [{ b64_json: base64, revised_prompt: 'A red fox' }], usage: { cost_in_usd_ticks: 200_000_001 } } }
  })
  t.match(await ticks.make(), { costNano: 20_000_001, usage: null, images: [{ revisedPrompt: 'A red fox' }] })
  const usd = await start(t, { dialect: 'openrouter' }, () => ({
    json: {
      data: [{ b64_json: base64 }],
      usage: {
        prompt_tokens: 8,
        completion_tokens: 1300,
        completion_tokens_details: { image_tokens: 1290 },
        cost: 0.0387
      }
    }
  }))
  t.match(await usd.make({ count: 3 }), {
    costNano: 3 * 38_700_000,
    usage: { inputText: 24, inputImage: 0, output: 3 * 1290, outputText: 30 }
  })
})

t.test('image URLs are passed on', async t => {
  const url = 'https://images.example.com/1.png'
  const { make } = await start(t, {}, () => ({ json: { data: [{ url }, { url: `data:image/png;base64,${base64}` }] } }))
  const { images } = await make({ count: 2 })
  t.same(images, [{ url, revisedPrompt: null }, { bytes: png, revisedPrompt: null }])
})

t.test('images that succeeded are the answer, whatever failed', async t => {
  let asked = 0
  const { make } = await start(t, { dialect: 'openrouter' }, () => {
    asked += 1
    return asked % 2 === 0 ? one : { status: 503, json: { error: { message: 'No.' } } }
  })
  t.equal((await make({ count: 4 })).images.length, 2)
})

t.test('failures have distinct kinds and hide the key', async t => {
  const error = (code: string, message = `Said with ${key}.`) => ({ error: { message, type: 'x', param: null, code } })
  const cases: [Reply, object][] = [
    [{ status: 400, json: error('moderation_blocked') }, { kind: 'moderated', details: { code: 'moderation_blocked' } }],
    [{ status: 400, json: error('content_policy_violation') }, { kind: 'moderated' }],
    [{ status: 400, json: error('invalid_size') }, { kind: 'bad_request', message: 'Said with ***.' }],
    [{ status: 401, json: error('invalid_api_key') }, { kind: 'auth' }],
    [{ status: 429, json: error('rate_limit_exceeded'), headers: { 'retry-after': '3' } }, { kind: 'rate', details: { retryAfterMs: 3000 } }],
    [{ status: 200, bytes: Buffer.from('<html>'), headers: { 'content-type': 'image/png' } }, { kind: 'bad_reply' }],
    [{ status: 200, json: { data: [] } }, { kind: 'bad_reply' }],
    [{ status: 200, json: { data: [{ respect_moderation: false }] } }, { kind: 'moderated' }],
    [{ status: 200, json: { error: { message: 'Gone wrong', code: 502 } } }, { kind: 'bad_reply' }]
  ]
  for (const [reply, expected] of cases) {
    const { make } = await start(t, {}, () => reply)
    const failure = await failureOf(make())
    t.match(failure, { sent: 'yes', ...expected })
    t.notMatch(String(failure), key)
  }
})

t.test('of several failures the most specific one is reported', async t => {
  let asked = 0
  const { make } = await start(t, { dialect: 'openrouter' }, () => {
    asked += 1
    return asked === 2
      ? { status: 400, json: { error: { message: 'Blocked.', code: 'moderation_blocked' } } }
      : { status: 500, json: {} }
  })
  t.match(await failureOf(make({ count: 3 })), { kind: 'moderated' })
})

t.test('the first byte of an image may take up to the total timeout', async t => {
  const timeouts = { ...generous, firstByteMs: 10 }
  const slow = await startImageServer(t, async () => {
    await new Promise(resolve => setTimeout(resolve, 60))
    return one
  })
  t.equal((await imageProviderAt(t, slow.url, { timeouts })()).images.length, 1)
  const hanging = await startImageServer(t, () => ({ hang: true }))
  const short = { ...timeouts, totalMs: 2_000 }
  t.match(await failureOf(imageProviderAt(t, hanging.url, { timeouts: short })()), { kind: 'timeout', sent: 'maybe' })
  await hanging.hungUp
})
