import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { request } from 'undici'
import type { VideoSettings } from '../../../services/config/catalogue/types.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { videoDefaults } from '../../../services/config/defaults.ts'
import { startGateway } from '../../helpers/gateway.ts'
import type { Gateway } from '../../helpers/gateway.ts'

async function start (t: Test, settings: Partial<VideoSettings> = {}, env: Record<string, string> = {}) {
  const video = { ...videoDefaults, heartbeatAfterMs: 150, heartbeatEveryMs: 40, ...settings }
  return await startGateway(t, { config: { ...configFromEnvironment({}), video }, env })
}

async function ask ({ url, headers }: Gateway, body: object, more: Record<string, string> = {}) {
  const answer = await request(`${url}/chat/completions`, {
    method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ model: 'sandbox-video', ...body })
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, text, body: JSON.parse(text) }
}

const say = (content: string) => ({ messages: [{ role: 'user', content }], video: { seconds: 2, size: '320x180' } })

t.test('what is wrong at once is said with its status, and holds no money', async t => {
  const gateway = await start(t)
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  const plain = { type: 'image_url', image_url: { url: 'http://x/a.png' } }
  const sound = { type: 'input_audio', input_audio: { data: '', format: 'wav' } }
  const cases: [object, number, string | null, RegExp][] = [
    [{ ...say('a'), stream: true }, 400, 'stream', /cannot be streamed/],
    [{ ...say('a'), n: 2 }, 400, 'n', /one video/],
    [say(' '), 400, 'messages', /nothing to make a video of/],
    [{ messages: [{ role: 'system', content: 'a' }] }, 400, 'messages', /no user message/],
    [{ ...say('a'), video: { seconds: 3 } }, 400, 'video.seconds', /2, 4, 6 or 8 seconds/],
    [{ ...say('a'), video: { seconds: 0 } }, 400, 'video.seconds', /./],
    [{ ...say('a'), video: { size: '10x10' } }, 400, 'video.size', /does not make 10x10/],
    [{ ...say('a'), video: { size: 'big' } }, 400, 'video.size', /./],
    [{ ...say('a'), video: { aspect_ratio: '21:9' } }, 400, 'video.aspect_ratio', /16:9, 9:16 or 1:1/],
    [{ ...say('a'), video: { audio: true } }, 400, 'video.audio', /no sound/],
    [{ messages: [{ role: 'user', content: [picture, picture, picture] }] }, 400, 'messages', /At most two/],
    [{ messages: [{ role: 'user', content: [plain] }] }, 400, 'messages', /https URL/],
    [{ messages: [{ role: 'user', content: [sound] }] }, 400, 'messages', /neither/],
    [say('a\nsandbox:error moderated'), 400, null, /moderated/],
    [say('a\nsandbox:error 401'), 502, null, /credentials/]
  ]
  for (const [body, status, param, message] of cases) {
    const answer = await ask(gateway, body)
    const { error } = answer.body
    t.match([answer.status, error.param, error.message], [status, param, message], JSON.stringify(body))
  }
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 0 })
})

t.test('without the money there is no job', async t => {
  const gateway = await start(t, {}, { TOLLGATE_STARTING_CREDIT: '0.003' })
  const { status, headers, body } = await ask(gateway, say('a'))
  t.match([status, headers['x-should-retry'], body.error.code], [402, 'false', 'insufficient_quota'])
  t.strictSame(await gateway.app.store.all('select id from job'), [])
})

t.test('a silent client is sent 200 and spaces, then the whole completion', async t => {
  const gateway = await start(t)
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  const body = JSON.stringify({ model: 'sandbox-video', ...say('a\nsandbox:delay 500') })
  const started = performance.now()
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nAuthorization: Bearer ${gateway.key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  const [first] = await once(socket, 'data')
  t.ok(performance.now() - started >= 140, 'nothing for as long as an error may have its own status')
  const head = String(first).toLowerCase()
  t.match(head, /^http\/1.1 200 /)
  for (const line of ['content-type: application/json', 'x-accel-buffering: no', 'transfer-encoding: chunked', 'x-tollgate-job-id: job_']) {
    t.match(head, line)
  }
  t.notMatch(head, 'content-encoding')
  let text = ''
  for await (const bytes of socket) text += bytes
  t.ok((text.match(/^1\r\n \r$/gm) ?? []).length >= 3, 'a space from time to time')
  t.match(text, '"object":"chat.completion"')
})

t.test('a completion is the same JSON whether spaces came first or not, and a late failure is one too', async t => {
  const gateway = await start(t)
  const early = await ask({ ...gateway }, say('a\nsandbox:delay 0'))
  const late = await ask(gateway, say('b\nsandbox:delay 300'))
  t.match(late.text, /^ +\{/)
  const shape = (value: unknown): unknown => value !== null && typeof value === 'object'
    ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shape(part)]))
    : typeof value
  t.strictSame(shape(late.body), shape(early.body))

  const failed = await ask(gateway, say('c\nsandbox:delay 300\nsandbox:fail moderated'))
  t.equal(failed.status, 200)
  t.match(failed.body, {
    object: 'chat.completion',
    choices: [{ finish_reason: 'content_filter', message: { role: 'assistant', content: '', refusal: /moderated/ } }],
    usage: { cost: 0 },
    error: { message: /moderated/, type: 'invalid_request_error', code: 'content_policy_violation', param: null },
    job_id: failed.headers['x-tollgate-job-id']
  })
  const broken = await ask(gateway, say('d\nsandbox:delay 300\nsandbox:fail 500'))
  t.match(broken.body, { choices: [{ finish_reason: 'stop', message: { content: '' } }], error: { code: 'video_failed' } })
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 8_000_000 })
})

t.test('who has been held for long enough is told to come back, before 200 and after', async t => {
  const slow = say('a\nsandbox:delay 1200')
  const pure = await start(t, { heartbeat: false, maxHoldMs: 100 })
  const told = await ask(pure, slow)
  t.match([told.status, told.body.error.code], [504, 'still_running'])
  t.match(told.headers, { 'x-should-retry': 'true', 'retry-after-ms': '200' })
  const hurried = await start(t, { heartbeatAfterMs: 60 })
  const timed = await ask(hurried, slow, { 'x-stainless-timeout': '0.1' })
  t.match([timed.status, timed.headers['x-should-retry']], [504, 'true'], 'a client that waits for less is told in time')

  const beating = await start(t, { heartbeatAfterMs: 50, maxHoldMs: 300 })
  const held = await ask(beating, slow)
  t.match([held.status, held.body.error.code, held.body.choices[0].message.content], [200, 'still_running', ''])
  for (const gateway of [pure, hurried, beating]) {
    t.match(await gateway.app.store.all('select delivered from job'), [{ delivered: 0 }], 'its job is not delivered by that')
  }
  let again = await ask(beating, slow)
  while (again.body.error !== undefined) again = await ask(beating, slow)
  t.match(again.body.choices[0].message.content, /^http/)
  t.match(await beating.app.store.all('select count(*) as count from job'), [{ count: 1 }])
})

t.test('more than so many requests are not held', async t => {
  const gateway = await start(t, {}, { TOLLGATE_MAX_POLLS: '1' })
  const first = ask(gateway, say('a\nsandbox:delay 400'))
  await once(gateway.app.server, 'request')
  const second = await ask(gateway, say('b'))
  t.match([second.status, second.headers['retry-after'], second.body.error.code], [503, '2', 'server_is_overloaded'])
  t.equal((await first).status, 200)
})
