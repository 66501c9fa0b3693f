import sharp from 'sharp'
import t from 'tap'
import { request } from 'undici'
import { startGateway, type Gateway } from '../helpers/gateway.ts'
import { compileOpenAi } from '../schemas/validators.ts'
import { clientNames, clients, errorClasses } from './clients.ts'

const isImagesResponse = compileOpenAi('ImagesResponse')

/** Fetches a URL without a key. */
async function fetchImage (url: string | undefined) {
  const answer = await request(url ?? '')
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  return { status: answer.statusCode, type: answer.headers['content-type'], bytes, ...await sharp(bytes).metadata() }
}

async function post ({ url, headers }: Gateway, body: object) {
  const answer = await request(`${url}/images/generations`, {
    method: 'POST', headers, body: JSON.stringify({ model: 'sandbox-image', prompt: 'A fox', ...body })
  })
  const json = await answer.body.json() as Record<string, never>
  return { status: answer.statusCode, headers: answer.headers, body: json }
}

t.test('an image is on the bill on disk before its client has it', async t => {
  const gateway = await startGateway(t)
  for (let made = 1; made <= 3; made++) {
    t.equal((await post(gateway, { size: '256x256' })).status, 200)
    const [row] = await gateway.app.store.all<{ count: number }>('select count(*) as count from entry where kind = $1', ['usage'])
    t.equal(row?.count, made)
  }
})

t.test('a gateway closes while the charge of images cannot be written; their client repeats its request', async t => {
  const gateway = await startGateway(t, { env: { TOLLGATE_DRAIN_SECONDS: '1' } })
  const { ledger } = gateway.app
  const { reserve } = ledger
  const begun = Promise.withResolvers<void>()
  ledger.reserve = async reservation => {
    const hold = await reserve(reservation)
    const write = hold.settle.bind(hold)
    return Object.assign(hold, {
      settle (...charge: Parameters<typeof write>): Promise<void> {
        write(...charge).catch(() => {})
        begun.resolve()
        return new Promise(() => {})
      }
    })
  }
  const answered = post(gateway, { size: '256x256' })
  await begun.promise
  await gateway.app.close()
  t.match(await answered, { status: 503, body: { error: { type: 'service_unavailable_error' } } })
})

for (const name of clientNames) {
  t.test(`${name} makes images with the sandbox`, async t => {
    const gateway = await startGateway(t)
    const client = clients[name](gateway)
    const model = 'sandbox-image'

    t.test('as URLs that need no key', async t => {
      const size = '320x200' as '1024x1024'
      const { data, response } = await client.images.generate({ model, prompt: 'A red fox', n: 3, size }).withResponse()
      t.ok(isImagesResponse(data), JSON.stringify(isImagesResponse.errors))
      t.equal(data.data?.length, 3)
      const images = await Promise.all((data.data ?? []).map(({ url }) => fetchImage(url)))
      for (const image of images) t.match(image, { status: 200, type: 'image/png', width: 320, height: 200, format: 'png' })
      t.equal(new Set(images.map(({ bytes }) => bytes.toString('base64'))).size, 3, 'each is another')
      t.ok(data.data?.every(({ url, revised_prompt: prompt }) => {
        return url?.startsWith(`${gateway.url}/media/`) && prompt === 'A red fox'
      }))
      t.equal(response.headers.get('x-tollgate-model'), model)
      t.equal(response.headers.get('x-tollgate-cost'), '0.006')
      t.match(await gateway.line(({ images }) => images === 3), { asked: model, costUsd: 0.006, status: 200 })
    })

    t.test('in OpenAI\'s default size and format, and in every other', async t => {
      const usual = await client.images.generate({ model, prompt: 'A fox' })
      t.ok(isImagesResponse(usual))
      t.match(usual, { size: '1024x1024', output_format: 'png' })
      t.match(await fetchImage(usual.data?.[0]?.url), { width: 1024, height: 1024 })
      for (const format of ['png', 'jpeg', 'webp'] as const) {
        const made = await client.images.generate({
          model,
          prompt: 'A fox',
          size: '256x256',
          output_format: format,
          output_compression: 60,
          quality: 'high',
          background: 'opaque',
          moderation: 'low',
          style: 'vivid',
          user: 'u1'
        })
        t.equal(made.output_format, format)
        t.match(await fetchImage(made.data?.[0]?.url), { format, type: `image/${format}`, width: 256, height: 256 })
      }
    })

    t.test('as base64 of what is stored', async t => {
      const made = await client.images.generate({ model, prompt: 'A fox', size: '256x256', response_format: 'b64_json' })
      t.ok(isImagesResponse(made))
      const [image] = made.data ?? []
      t.equal(image?.url, undefined)
      t.match(await sharp(Buffer.from(image?.b64_json ?? '', 'base64')).metadata(), { width: 256, height: 256 })
    })

    t.test('with failures in OpenAI\'s shape', async t => {
      const { BadRequestError, NotFoundError, RateLimitError } = errorClasses[name]
      const attempt = (more: object) => client.images.generate({ model, prompt: 'A fox', ...more })
        .then(() => null, (error: unknown) => error)
      const tooLarge = await attempt({ size: '9000x9000' })
      t.ok(tooLarge instanceof BadRequestError)
      t.match(tooLarge, { status: 400, param: 'size', code: 'invalid_value', message: /sides from 64 to 2048/ })
      t.match(await attempt({ quality: 'hd' }), { status: 400, param: 'quality', message: /'low', 'medium', 'high'/ })
      t.match(await attempt({ n: 11 }), { status: 400, param: 'n' })
      t.match(await attempt({ stream: true }), { status: 400, param: 'stream' })
      const moderated = await attempt({ prompt: 'sandbox:error moderated' })
      t.ok(moderated instanceof BadRequestError)
      t.match(moderated, { status: 400, type: 'invalid_request_error', code: 'content_policy_violation' })
      t.ok(await attempt({ prompt: 'sandbox:error 429' }) instanceof RateLimitError)
      t.ok(await attempt({ model: 'no-such-model' }) instanceof NotFoundError)
      t.match(await attempt({ model: 'sandbox-chat' }), { status: 400, param: 'model', message: /chat model/ })
    })
  })
}

t.test('fields that the provider does not support are reported', async t => {
  const gateway = await startGateway(t)
  const { headers } = await post(gateway, { size: '64x64', style: 'vivid', user: 'u', width: 5000, quality: 'low' })
  t.equal(headers['x-tollgate-dropped-params'], 'style, user, width')
  const chat = await request(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: gateway.headers,
    body: JSON.stringify({ model: 'sandbox-image', messages: [{ role: 'user', content: 'Hi' }] })
  })
  t.match(await chat.body.json(), { error: { param: 'model' } }, 'an image model does not chat')
})

t.test('the price depends on size and quality, and a URL with a changed signature is refused', async t => {
  const gateway = await startGateway(t)
  const costOf = async (body: object) => (await post(gateway, body)).headers['x-tollgate-cost']
  t.equal(await costOf({ size: '64x64', quality: 'low' }), '0.001')
  t.equal(await costOf({ size: '64x64', quality: 'high', n: 2 }), '0.008')
  t.equal(await costOf({ size: '1100x1000' }), '0.003')
  const { body } = await post(gateway, { size: '64x64' })
  const [{ url }] = body.data as unknown as [{ url: string }]
  t.equal((await request(url)).statusCode, 200)
  t.equal((await request(`${url.slice(0, -2)}xx`)).statusCode, 403)
})

t.test('a key needs permission for the model, and a request needs a key', async t => {
  const gateway = await startGateway(t)
  const answer = await request(`${gateway.url}/images/generations`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}'
  })
  t.equal(answer.statusCode, 401)
  t.match(await answer.body.json(), { error: { code: null } })
})
