import { Type } from '@sinclair/typebox'
import tap, { type Test } from 'tap'
import {
  replyTruncated, html, reply, reset, replyText, replySlowly, stall, type Script
} from '../../../servers/videos/server.ts'
import type { RejectionReason } from '../../../servers/videos/fake-api.ts'
import { fakeVideoApis } from '../../../servers/videos/fake-apis.ts'
import {
  bytesOf, connect, failureOf, lengthOf, nameOf, shortFirstByte, videoProviderAt, framesFor, shortIdle,
  signal, sizesOf, takesSeed, taskFor
} from './helper.ts'

// Most of the time is spent on timeouts.
tap.jobs = 6

for (const api of fakeVideoApis) {
  const test = (name: string, run: (t: Test) => Promise<unknown>) =>
    tap.test(`${nameOf(api)}: ${name}`, { buffered: true }, run)
  const has = (state: typeof api.states[number]) => api.states.includes(state)

  test('submits, polls and downloads a video from text', async t => {
    const { server, provider } = await connect(t, api)
    const { handle } = await provider.submit(taskFor(api), signal())
    t.equal(server.jobs.length, 1)
    for (const state of ['queued', 'running'] as const) {
      if (!has(state)) continue
      server.set(state)
      const progress = state === 'running' ? api.expected.progress : undefined
      t.match(await provider.poll(handle, signal()), { state, ...(progress !== undefined && { progress }) })
    }
    server.set('succeeded')
    // The handle is valid in another process.
    const found = await videoProviderAt(t, api, server.url).poll(handle, signal())
    if (found.state !== 'succeeded') return t.fail(found.state)
    t.match(found, { seconds: api.expected.seconds, costNano: api.expected.costNano })
    t.equal(found.videos.length, 1)
    t.ok(server.video.equals(await bytesOf(found.videos[0])))
    t.equal(server.jobs.length, 1, 'only one job was submitted')
  })

  test('sends all options of a task', async t => {
    const { server, provider } = await connect(t, api)
    const { wide, tall } = sizesOf(api)
    const seed = takesSeed(api) ? 7 : null
    const options = { size: wide, isSizeAsked: true, seed, audio: true }
    const shape = api.isWideOnly === true ? { aspectRatio: '16:9' } : { size: tall, aspectRatio: '9:16' }
    await provider.submit(taskFor(api, { ...options, ...framesFor(api) }), signal())
    await provider.submit(taskFor(api, { ...shape, audio: false }), signal())
    const [first, second] = server.jobs.map(({ body }) => JSON.stringify(body))
    t.match(first, api.frames.picture === 'bytes' ? 'iVBORw0KGgo=' : 'https://images.example/first.png')
    if (api.frames.last && api.frames.picture !== 'url') t.match(first, 'iVBORw0KGgo=')
    t.match(first, new RegExp(`"(seconds|duration|durationSeconds)":"?${lengthOf(api)}s?"?`))
    if (api.isWideOnly !== true) t.match(second, /9:16|720x1280|720:1280|"width":720,"height":1280/)
    if (takesSeed(api)) return t.match(first, /"seed":7/)
    const error = await failureOf(provider.submit(taskFor(api, { seed: 7 }), signal()))
    t.match(error, { kind: 'bad_request', sent: 'no', details: { param: 'seed' } })
  })

  test('sends no empty text with a picture', async t => {
    const { server, provider } = await connect(t, { ...api, submit: { path: /./, schema: Type.Object({}) } })
    const { firstFrame = null } = framesFor(api)
    const failure = await provider.submit(taskFor(api, { prompt: '', firstFrame }), signal()).then(() => null, error => error)
    if (failure !== null) return t.match(failure, { kind: 'bad_request', sent: 'no', details: { param: 'messages' } })
    t.notMatch(JSON.stringify(server.jobs[0]?.body), /:""/)
  })

  test('rejects frames in an unsupported format without a request', async t => {
    const { server, provider } = await connect(t, api)
    t.equal(provider.frameFormat ?? 'any', api.frames.picture)
    if (provider.frameFormat === undefined) return
    const [address, bytes] = [{ url: 'https://a.example/b.png' }, { bytes: new Uint8Array(1), mime: 'a/b' }]
    const firstFrame = provider.frameFormat === 'bytes' ? address : bytes
    const error = await failureOf(provider.submit(taskFor(api, { firstFrame }), signal()))
    t.match(error, { kind: 'bad_request', sent: 'no' })
    t.equal(server.requests.length, 0)
  })

  test('reports jobs that end without a video', async t => {
    const { server, provider } = await connect(t, api)
    const { handle } = await provider.submit(taskFor(api), signal())
    const expected = {
      failed: { state: 'failed', error: { kind: 'bad_reply' } },
      moderated: { state: 'failed', error: { kind: 'moderated' } },
      expired: { state: 'failed', error: { kind: 'timeout' } },
      cancelled: { state: 'cancelled' }
    } as const
    for (const state of ['failed', 'moderated', 'expired', 'cancelled'] as const) {
      if (!has(state)) continue
      server.set(state)
      const ended = await provider.poll(handle, signal())
      t.match(ended, expected[state], state)
      if (state === 'failed' && 'error' in ended) t.ok(ended.error.message.length > 3)
    }
  })

  test('classifies rejected submits as not started', async t => {
    const { server, provider } = await connect(t, api)
    const kinds: Record<RejectionReason, string> = {
      invalid: 'bad_request', moderated: 'moderated', auth: 'auth', quota: 'quota', rate: 'rate', unknown: 'not_found'
    }
    for (const why of Object.keys(kinds) as RejectionReason[]) {
      const { body, status } = api.errorResponse(why, `You sent ${api.apiKey}.`)
      server.script('submit', reply({ status, body, headers: why === 'rate' ? { 'retry-after': '7' } : {} }))
      const error = await failureOf(provider.submit(taskFor(api), signal()))
      t.match(error, { kind: kinds[why], sent: 'yes', details: { status } }, why)
      t.notMatch(error.message, api.apiKey, 'the key is redacted')
      // A refusal with status 200 has no headers to wait by.
      if (why === 'rate' && status !== 200) t.equal(error.details.retryAfterMs, 7000)
    }
    server.script('submit', html(503))
    t.match(await failureOf(provider.submit(taskFor(api), signal())), { kind: 'overloaded', sent: 'yes' })
    t.equal(server.jobs.length, 0)
  })

  test('reports every submit with an unclear outcome as possibly started', async t => {
    const { server, provider } = await connect(t, api)
    const job = { id: 'x', state: 'queued', body: {}, path: '', createdAt: 0 } as const
    const unclear: Record<string, Script> = {
      'a proxy without a server': html(502),
      'a broken server': html(500),
      'a gateway timeout': html(504),
      'a reset': reset,
      'a truncated response': replyTruncated,
      'no JSON': replyText(200, '<html>', { 'content-type': 'application/json' }),
      'a JSON array': replyText(200, '[1]'),
      'no body': replyText(202, ''),
      'no handle': replyText(200, JSON.stringify(api.submitResponse(job).body).replaceAll('"x"', 'null')),
      'an unknown compression': replyText(200, '{}', { 'content-encoding': 'rot13' })
    }
    if (['veo', 'vertex'].includes(api.protocol)) unclear['no handle'] = replyText(200, '{}')
    for (const [name, script] of Object.entries(unclear)) {
      server.script('submit', script)
      t.equal((await failureOf(provider.submit(taskFor(api), signal()))).sent, 'maybe', name)
    }
    const aborter = new AbortController()
    server.script('submit', async (response, request) => {
      aborter.abort()
      await stall(response, request)
    })
    t.match(await failureOf(provider.submit(taskFor(api), aborter.signal)), { kind: 'aborted', sent: 'maybe' })
    // Last, because on a busy machine this request may reach the server late.
    server.script('submit', stall)
    const hasty = videoProviderAt(t, api, server.url, { timeouts: shortFirstByte })
    t.match(await failureOf(hasty.submit(taskFor(api), signal())), { kind: 'timeout', sent: 'maybe' })
  })

  test('reports a submit that was never sent', async t => {
    const provider = videoProviderAt(t, api, `http://127.0.0.1:1${api.base}`)
    t.match(await failureOf(provider.submit(taskFor(api), signal())), { kind: 'network', sent: 'no' })
  })

  test('does not end a job when a poll fails', async t => {
    const { server, provider } = await connect(t, api)
    const { handle } = await provider.submit(taskFor(api), signal())
    server.set('running')
    const { status, body } = api.errorResponse('unknown', 'No such job.')
    const faults: [string, Script, object][] = [
      ['a 404 just after the submit', reply({ status, body }), { kind: 'not_found' }],
      ['a proxy', html(502), { kind: 'bad_reply' }],
      ['a rate limit', replyText(429, '', { 'retry-after': '3' }), { kind: 'rate', details: { retryAfterMs: 3000 } }],
      ['overload', html(503), { kind: 'overloaded' }],
      ['a reset', reset, { kind: 'network' }],
      ['a truncated response', replyTruncated, { kind: 'network' }],
      ['no JSON', replyText(200, 'OK'), { kind: 'bad_reply' }],
      ['a JSON array', replyText(200, '[]'), { kind: 'bad_reply' }]
    ]
    for (const [name, script, expected] of faults) {
      server.script('poll', script)
      t.match(await failureOf(provider.poll(handle, signal())), expected, name)
    }
    server.script('poll', replyText(202, ''))
    t.same(await provider.poll(handle, signal()), { state: 'running', progress: null }, 'an empty body')
    server.set('succeeded')
    t.match(await provider.poll(handle, signal()), { state: 'succeeded' })
    server.script('poll', stall)
    const hasty = videoProviderAt(t, api, server.url, { timeouts: shortFirstByte })
    t.match(await failureOf(hasty.poll(handle, signal())), { kind: 'timeout' })
  })

  test('cancels a job if the provider supports it', async t => {
    const { server, provider } = await connect(t, api)
    const { handle } = await provider.submit(taskFor(api), signal())
    const canCancel = provider.cancel !== undefined && (provider.canCancel?.(handle) ?? true)
    t.equal(canCancel, api.cancel !== undefined)
    if (provider.cancel === undefined || !canCancel) return
    await provider.cancel(handle, signal())
    t.equal(server.requests.at(-1)?.kind, 'cancel')
    if (has('cancelled')) t.match(await provider.poll(handle, signal()), { state: 'cancelled' })
    for (const tooLate of [400, 404, 409]) {
      server.script('cancel', replyText(tooLate, '{"status":"ALREADY_COMPLETED"}'))
      await provider.cancel(handle, signal())
    }
    server.script('cancel', html(502))
    t.match(await failureOf(provider.cancel(handle, signal())), { kind: 'bad_reply' })
  })

  if (api.content !== undefined) {
    test('downloads a video that needs the API key', async t => {
      const { server, provider } = await connect(t, api)
      const { handle } = await provider.submit(taskFor(api), signal())
      server.set('succeeded')
      const ended = await provider.poll(handle, signal())
      if (ended.state !== 'succeeded') return t.fail(ended.state)
      const [file] = ended.videos
      if (file === undefined || !('open' in file)) return t.fail('the file is public')
      t.notMatch(JSON.stringify(ended), api.apiKey)

      server.script('content', replySlowly(server.video, 6, 20))
      t.ok(server.video.equals(await bytesOf(file)), 'slowly')
      server.script('content', reply({ status: 404, body: {} }))
      t.match(await failureOf(file.open(signal())), { kind: 'not_found' })

      const again = await videoProviderAt(t, api, server.url, { timeouts: shortIdle }).poll(handle, signal())
      const [stalled] = again.state === 'succeeded' ? again.videos : []
      server.script('content', replySlowly(server.video, 2, 1000))
      t.match(await failureOf(bytesOf(stalled)), { kind: 'timeout' })

      const location = 'https://storage.example/video.mp4?signed=1'
      server.script('content', reply({ status: 302, headers: { location } }))
      const moved = await provider.poll(handle, signal())
      t.match(moved, { state: 'succeeded', videos: [{ url: location }] }, 'follows the redirect without the key')
      server.script('content', html(502))
      t.match(await failureOf(provider.poll(handle, signal())), { kind: 'bad_reply' }, 'to be polled again')
    })
  }
}
