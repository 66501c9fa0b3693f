import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import { create, createByForm, ended, json, send, small, startVideoGateway } from './video-client.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

t.test('a video is started at once, and its client need not wait', async t => {
  const gateway = await startVideoGateway(t)
  const { app } = gateway
  const { status, headers, body } = await create(gateway, { prompt: ' a red ball\nsandbox:delay 50' })
  t.equal(status, 200)
  t.equal(headers.get('x-tollgate-job-id'), body.id)
  t.match(body, {
    id: /^job_/,
    object: 'video',
    status: 'queued',
    progress: 0,
    model: 'sandbox-video',
    prompt: 'a red ball\nsandbox:delay 50',
    seconds: '2',
    size: '64x36',
    created_at: Number,
    completed_at: null,
    expires_at: null,
    error: null,
    remixed_from_video_id: null,
    usage: null
  })
  t.match(await app.ledger.balance('default'), { heldNano: 4_000_000, spentNano: 0 })
  await ended(gateway)
  t.match(await app.store.all('select state, delivered, background from job'), [{ state: 'succeeded', delivered: 0, background: 2 }])
  t.match(await app.ledger.balance('default'), { heldNano: 0, spentNano: 4_000_000 })
  t.match(await app.store.all('select kind, amount from entry where ref = $1', [body.id]), [{ kind: 'usage', amount: 4_000_000 }])
  t.strictSame(await app.store.all('select id from waiter'), [])
  t.strictSame(await checkLedger(app.store), [])
})

t.test('a failed video frees its hold', async t => {
  const gateway = await startVideoGateway(t)
  const { status } = await create(gateway, { prompt: 'a\nsandbox:delay 20\nsandbox:fail moderated' })
  t.equal(status, 200)
  await ended(gateway)
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 0 })
})

t.test('a form, JSON and a chat request ask for the same video', async t => {
  const gateway = await startVideoGateway(t)
  const { app, url, headers } = gateway
  const address = `data:image/png;base64,${png}`
  const prompt = 'a ball\nsandbox:delay 0'
  const file = new Blob([Buffer.from(png, 'base64')], { type: 'application/octet-stream' })
  t.equal((await createByForm(gateway, { prompt, input_reference: file, seed: '7' })).status, 200)
  t.equal((await createByForm(gateway, { prompt: prompt.replace('\n', '\r\n'), input_reference: file, seed: '7' })).status, 200)
  const nested = { 'input_reference[image_url]': address, seed: '7', audio: 'false' }
  t.equal((await createByForm(gateway, { prompt, ...nested })).status, 200)
  const inObject = { prompt, input_reference: { image_url: address }, seed: 7, seconds: 2 }
  t.equal((await create(gateway, inObject)).status, 200)
  t.equal((await create(gateway, { prompt, input_reference: address, seed: 7, aspect_ratio: '16:9' })).status, 200)
  const parts = [{ type: 'text', text: prompt }, { type: 'image_url', image_url: { url: address } }]
  const chat = await request(`${url}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      model: 'sandbox-video',
      messages: [{ role: 'user', content: parts }],
      video: { seconds: 2, size: '64x36', seed: 7 }
    })
  })
  t.equal(chat.statusCode, 200)
  await chat.body.dump()
  const jobs = await app.store.all<{ hash: string }>('select body_hash as hash from job order by created_at, id')
  t.equal(jobs.length, 6)
  const hashes = new Set(jobs.map(({ hash }) => hash))
  t.equal(hashes.size, 2, 'the aspect ratio that one states differs, and nothing else')
})

t.test('what is wrong is said by the names of this surface, and holds no money', async t => {
  const gateway = await startVideoGateway(t)
  const prompt = 'a'
  const cases: [object, string | null, RegExp][] = [
    [{ model: undefined, prompt }, null, /model/],
    [{ prompt: undefined }, 'prompt', /prompt/],
    [{ prompt: ' \n' }, 'prompt', /prompt/],
    [{ prompt, seconds: '0' }, 'seconds', /./],
    [{ prompt, seconds: 0.5 }, 'seconds', /./],
    [{ prompt, seconds: '3' }, 'seconds', /2, 4, 6 or 8 seconds/],
    [{ prompt, size: 'big' }, 'size', /./],
    [{ prompt, size: '10x10' }, 'size', /does not make 10x10/],
    [{ prompt, aspect_ratio: '9:16' }, 'aspect_ratio', /^`aspect_ratio` and `size` differ/],
    [{ prompt, audio: true }, 'audio', /no sound/],
    [{ prompt, input_reference: 'http://x.example/a.png' }, 'input_reference', /https URL/],
    [{ prompt, input_reference: `data:image/png;base64,${'AAAA'}` }, 'input_reference', /not a PNG/],
    [{ prompt, input_reference: { file_id: 'file_1' } }, 'input_reference', /./],
    [{ prompt, input_reference: { image_url: 'https://x.example/a.png', file_id: 'file_1' } }, 'input_reference.file_id', /file_id/],
    [{ prompt, last_frame: 'https://x.example/a.png' }, 'last_frame', /first frame/],
    [{ prompt, n: 2 }, 'n', /n/],
    [{ prompt, quality: 'high' }, 'quality', /quality/],
    [{ prompt, remixed_from_video_id: 'job_1' }, 'remixed_from_video_id', /./]
  ]
  for (const [body, param, message] of cases) {
    const { status, body: { error } } = await create(gateway, body)
    t.match([status, error.type, error.message], [400, 'invalid_request_error', message], JSON.stringify(body))
    t.ok(param === null || String(error.param).startsWith(param), `${error.param} for ${JSON.stringify(body)}`)
  }
  const unknown = await create(gateway, { model: 'nothing', prompt })
  t.match([unknown.status, unknown.body.error.code], [404, 'model_not_found'])
  const chat = await create(gateway, { model: 'sandbox-chat', prompt })
  t.match([chat.status, chat.body.error.message], [400, 'The model `sandbox-chat` is a chat model; it cannot make videos.'])
  t.strictSame(await gateway.app.store.all('select id from job'), [])
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 0 })
})

t.test('a form that is broken, too long or not for here is refused', async t => {
  const gateway = await startVideoGateway(t)
  const { url, key } = gateway
  const file = new Blob(['not a picture'])
  const wrong = await createByForm(gateway, { prompt: 'a', input_reference: file })
  t.match([wrong.status, wrong.body.error.param], [400, 'input_reference'])
  const strange = await createByForm(gateway, { prompt: 'a', __proto__: 'x', 'a[b]': 'c' })
  t.match([strange.status, strange.body.error.param], [400, 'a'])
  const badSeed = await createByForm(gateway, { prompt: 'a', seed: 'many' })
  t.match([badSeed.status, badSeed.body.error.param], [400, 'seed'])
  const twice = new FormData()
  for (const [name, value] of [...Object.entries(small), ['prompt', 'a'], ['prompt', 'b']]) twice.append(name ?? '', value ?? '')
  const repeated = await send(gateway, '/videos', { body: twice })
  t.match([repeated.status, repeated.body.error.param], [400, 'prompt'])

  const many = new FormData()
  for (let field = 0; field < 200; field++) many.append(`f${field}`, '')
  t.match(await send(gateway, '/videos', { body: many }), { status: 400, body: { error: { message: /at most 64 parts/ } } })
  for (const text of ['', '--x', '--x\r\n\r\n', '--x\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na']) {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    t.match(await send(gateway, '/videos', { headers, body: text }), { status: 400, body: { error: { type: 'invalid_request_error' } } }, text)
  }
  const unbounded = await send(gateway, '/videos', { headers: { 'content-type': 'multipart/form-data' }, body: 'x' })
  t.match([unbounded.status, unbounded.body.error.type], [400, 'invalid_request_error'])

  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(`POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
    'Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 999999999\r\n\r\n')
  const [head] = await once(socket, 'data')
  t.match(String(head), /^HTTP\/1.1 413 /, 'before it is read')
  const elsewhere = await send(gateway, '/chat/completions', { body: twice })
  t.equal(elsewhere.status, 400, 'only videos take forms')
})

t.test('a request and its retries are one video', async t => {
  const gateway = await startVideoGateway(t)
  const { app } = gateway
  const prompt = 'a ball\nsandbox:delay 100'
  const named = { 'idempotency-key': 'order 1' }
  const both = [create(gateway, { prompt }, named), create(gateway, { prompt }, named)] as const
  const [one, other] = await Promise.all(both)
  t.equal(one.body.id, other.body.id)
  const different = await create(gateway, { prompt: 'another' }, named)
  t.match([different.status, different.body.error.code], [422, 'idempotency_key_reused'])

  const first = await create(gateway, { prompt })
  await ended(gateway)
  const next = await create(gateway, { prompt })
  t.not(first.body.id, next.body.id, 'who was told the id asks by it; the same body is another video')
  await ended(gateway)
  t.match(await app.store.all("select count(*) as n from entry where kind = 'usage'"), [{ n: 3 }])
  const again = await create(gateway, { prompt }, named)
  t.match(again.body, { id: one.body.id, status: 'completed', progress: 100, completed_at: Number, expires_at: Number, usage: { cost: 0.004 } })
  t.match(await app.store.all("select count(*) as n from entry where kind = 'usage'"), [{ n: 3 }])
})

t.test('a client that disconnects before it has the id finds its job by a retry', async t => {
  const gateway = await startVideoGateway(t)
  const { app: { store } } = gateway
  const run = store.run.bind(store)
  const stopped = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  // Its connection breaks when the job is there, before the answer is.
  store.run = async (sql, values) => {
    if (sql.includes('background = 1') && values?.length === 1) {
      stopped.resolve()
      await going.promise
    }
    return await run(sql, values)
  }
  const closed = Promise.withResolvers<void>()
  gateway.app.server.once('request', (_request, response) => response.once('close', closed.resolve))
  const abort = new AbortController()
  const body = JSON.stringify({ ...small, prompt: 'a ball\nsandbox:delay 100' })
  const asked = request(`${gateway.url}/videos`, { method: 'POST', headers: gateway.headers, body, signal: abort.signal })
  await stopped.promise
  abort.abort()
  await t.rejects(asked)
  await closed.promise
  going.resolve()
  store.run = run
  const retry = await send(gateway, '/videos', { headers: { ...json, 'x-stainless-retry-count': '1' }, body })
  t.equal(retry.status, 200)
  await ended(gateway)
  t.match(await store.all('select id from job'), [{ id: retry.body.id }])
})

t.test('what OpenAI offers beside is refused by name', async t => {
  const gateway = await startVideoGateway(t)
  for (const path of ['/videos/edits', '/videos/extensions', '/videos/characters', '/videos/job_1/remix']) {
    const { status, body } = await send(gateway, path, { headers: json, body: '{}' })
    t.match([status, body.error.code], [404, 'unsupported_endpoint'], path)
  }
})
