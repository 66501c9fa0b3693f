import tap, { type Test } from 'tap'
import {
  cutShort, html, reply, reset, say, slowly, stall, type Script
} from '../../../servers/videos/server.ts'
import type { Refusal } from '../../../servers/videos/wire.ts'
import { wires } from '../../../servers/videos/wires.ts'
import {
  bytesOf, connect, failureOf, impatient, makerAt, pictures, restless, signal, taskFor
} from './helper.ts'

// Most of the time is spent waiting for timeouts.
tap.jobs = 6

for (const wire of wires) {
  const test = (name: string, run: (t: Test) => Promise<unknown>) =>
    tap.test(`${wire.form}: ${name}`, { buffered: true }, run)
  const has = (state: typeof wire.states[number]) => wire.states.includes(state)

  test('a video from text, step by step', async t => {
    const { server, maker } = await connect(t, wire)
    const { handle } = await maker.submit(taskFor(wire), signal())
    t.equal(server.jobs.length, 1)
    for (const state of ['queued', 'running'] as const) {
      if (!has(state)) continue
      server.set(state)
      const progress = state === 'running' ? wire.expected.progress : undefined
      t.match(await maker.poll(handle, signal()), { state, ...(progress !== undefined && { progress }) })
    }
    server.set('succeeded')
    // A handle is good in another process too.
    const found = await makerAt(t, wire, server.url).poll(handle, signal())
    if (found.state !== 'succeeded') return t.fail(found.state)
    t.match(found, { seconds: wire.expected.seconds, costNano: wire.expected.costNano })
    t.equal(found.videos.length, 1)
    t.ok(server.video.equals(await bytesOf(found.videos[0])))
    t.equal(server.jobs.length, 1, 'nothing was begun twice')
  })

  test('everything that can be asked for', async t => {
    const { server, maker } = await connect(t, wire)
    const asked = { seconds: 8, size: { width: 1280, height: 720 }, seed: 7, audio: true }
    await maker.submit(taskFor(wire, { ...asked, ...pictures(wire) }), signal())
    await maker.submit(taskFor(wire, { seconds: 8, aspectRatio: '9:16', audio: false }), signal())
    const [first, second] = server.jobs.map(({ body }) => JSON.stringify(body))
    t.match(first, wire.frames.picture === 'bytes' ? 'iVBORw0KGgo=' : 'https://pictures.example/first.png')
    if (wire.frames.last && wire.frames.picture !== 'url') t.match(first, 'iVBORw0KGgo=')
    t.match(first, /"(seconds|duration|durationSeconds)":"?8s?"?/)
    t.match(second, /9:16|720x1280|720:1280/)
  })

  test('pictures in the wrong form go nowhere', async t => {
    const { server, maker } = await connect(t, wire)
    t.equal(maker.frameFormat ?? 'any', wire.frames.picture)
    if (maker.frameFormat === undefined) return
    const [address, bytes] = [{ url: 'https://a.example/b.png' }, { bytes: new Uint8Array(1), mime: 'a/b' }]
    const firstFrame = maker.frameFormat === 'bytes' ? address : bytes
    const error = await failureOf(maker.submit(taskFor(wire, { firstFrame }), signal()))
    t.match(error, { kind: 'bad_request', sent: 'no' })
    t.equal(server.requests.length, 0)
  })

  test('how a job can end without a video', async t => {
    const { server, maker } = await connect(t, wire)
    const { handle } = await maker.submit(taskFor(wire), signal())
    const expected = {
      failed: { state: 'failed', error: { kind: 'bad_reply' } },
      moderated: { state: 'failed', error: { kind: 'moderated' } },
      expired: { state: 'failed', error: { kind: 'timeout' } },
      cancelled: { state: 'cancelled' }
    } as const
    for (const state of ['failed', 'moderated', 'expired', 'cancelled'] as const) {
      if (!has(state)) continue
      server.set(state)
      const ended = await maker.poll(handle, signal())
      t.match(ended, expected[state], state)
      if (state === 'failed' && 'error' in ended) t.ok(ended.error.message.length > 3)
    }
  })

  test('what is refused has begun nothing', async t => {
    const { server, maker } = await connect(t, wire)
    const kinds: Record<Refusal, string> = {
      invalid: 'bad_request', moderated: 'moderated', auth: 'auth', quota: 'quota', rate: 'rate', unknown: 'not_found'
    }
    for (const why of Object.keys(kinds) as Refusal[]) {
      const { body, status } = wire.refused(why, `You sent ${wire.apiKey}.`)
      server.script('submit', reply({ status, body, headers: why === 'rate' ? { 'retry-after': '7' } : {} }))
      const error = await failureOf(maker.submit(taskFor(wire), signal()))
      t.match(error, { kind: kinds[why], sent: 'yes', details: { status } }, why)
      t.notMatch(error.message, wire.apiKey, 'the key stays here')
      if (why === 'rate') t.equal(error.details.retryAfterMs, 7000)
    }
    server.script('submit', html(503))
    t.match(await failureOf(maker.submit(taskFor(wire), signal())), { kind: 'overloaded', sent: 'yes' })
    t.equal(server.jobs.length, 0)
  })

  test('what may have begun a job never says that it did not', async t => {
    const { server, maker } = await connect(t, wire)
    const job = { id: 'x', state: 'queued', body: {}, path: '', createdAt: 0 } as const
    const unclear: Record<string, Script> = {
      'a proxy without a server': html(502),
      'a broken server': html(500),
      'a proxy that gave up': html(504),
      'a reset': reset,
      'half an answer': cutShort,
      'no JSON': say(200, '<html>', { 'content-type': 'application/json' }),
      'another JSON': say(200, '[1]'),
      'no body': say(202, ''),
      'no handle': say(200, JSON.stringify(wire.accepted(job).body).replaceAll('"x"', 'null')),
      'an unknown compression': say(200, '{}', { 'content-encoding': 'rot13' })
    }
    if (wire.form === 'veo') unclear['no handle'] = say(200, '{}')
    for (const [name, script] of Object.entries(unclear)) {
      server.script('submit', script)
      t.equal((await failureOf(maker.submit(taskFor(wire), signal()))).sent, 'maybe', name)
    }
    const aborter = new AbortController()
    server.script('submit', async (response, request) => {
      aborter.abort()
      await stall(response, request)
    })
    t.match(await failureOf(maker.submit(taskFor(wire), aborter.signal)), { kind: 'aborted', sent: 'maybe' })
    // Last, because on a busy machine the server hears of it only later.
    server.script('submit', stall)
    const hasty = makerAt(t, wire, server.url, { timeouts: impatient })
    t.match(await failureOf(hasty.submit(taskFor(wire), signal())), { kind: 'timeout', sent: 'maybe' })
  })

  test('what never left says so', async t => {
    const maker = makerAt(t, wire, `http://127.0.0.1:1${wire.base}`)
    t.match(await failureOf(maker.submit(taskFor(wire), signal())), { kind: 'network', sent: 'no' })
  })

  test('a poll that fails ends no job', async t => {
    const { server, maker } = await connect(t, wire)
    const { handle } = await maker.submit(taskFor(wire), signal())
    server.set('running')
    const { status, body } = wire.refused('unknown', 'No such job.')
    const faults: [string, Script, object][] = [
      ['a 404 just after the submit', reply({ status, body }), { kind: 'not_found' }],
      ['a proxy', html(502), { kind: 'bad_reply' }],
      ['too many', say(429, '', { 'retry-after': '3' }), { kind: 'rate', details: { retryAfterMs: 3000 } }],
      ['overload', html(503), { kind: 'overloaded' }],
      ['a reset', reset, { kind: 'network' }],
      ['half an answer', cutShort, { kind: 'network' }],
      ['no JSON', say(200, 'OK'), { kind: 'bad_reply' }],
      ['a list', say(200, '[]'), { kind: 'bad_reply' }]
    ]
    for (const [name, script, expected] of faults) {
      server.script('poll', script)
      t.match(await failureOf(maker.poll(handle, signal())), expected, name)
    }
    server.script('poll', say(202, ''))
    t.same(await maker.poll(handle, signal()), { state: 'running', progress: null }, 'no news')
    server.set('succeeded')
    t.match(await maker.poll(handle, signal()), { state: 'succeeded' })
    server.script('poll', stall)
    const hasty = makerAt(t, wire, server.url, { timeouts: impatient })
    t.match(await failureOf(hasty.poll(handle, signal())), { kind: 'timeout' })
  })

  test('a job is cancelled, as far as that is possible', async t => {
    const { server, maker } = await connect(t, wire)
    t.equal(maker.cancel === undefined, wire.cancel === undefined)
    if (maker.cancel === undefined) return
    const { handle } = await maker.submit(taskFor(wire), signal())
    await maker.cancel(handle, signal())
    t.equal(server.requests.at(-1)?.kind, 'cancel')
    if (has('cancelled')) t.match(await maker.poll(handle, signal()), { state: 'cancelled' })
    for (const tooLate of [400, 404, 409]) {
      server.script('cancel', say(tooLate, '{"status":"ALREADY_COMPLETED"}'))
      await maker.cancel(handle, signal())
    }
    server.script('cancel', html(502))
    t.match(await failureOf(maker.cancel(handle, signal())), { kind: 'bad_reply' })
  })

  if (wire.content !== undefined) {
    test('a video that needs the key', async t => {
      const { server, maker } = await connect(t, wire)
      const { handle } = await maker.submit(taskFor(wire), signal())
      server.set('succeeded')
      const ended = await maker.poll(handle, signal())
      if (ended.state !== 'succeeded') return t.fail(ended.state)
      const [file] = ended.videos
      if (file === undefined || 'url' in file) return t.fail('it is public')
      t.notMatch(JSON.stringify(ended), wire.apiKey)

      server.script('content', slowly(server.video, 6, 20))
      t.ok(server.video.equals(await bytesOf(file)), 'slowly')
      server.script('content', reply({ status: 404, body: {} }))
      t.match(await failureOf(file.open(signal())), { kind: 'not_found' })

      const again = await makerAt(t, wire, server.url, { timeouts: restless }).poll(handle, signal())
      const [stalled] = again.state === 'succeeded' ? again.videos : []
      server.script('content', slowly(server.video, 2, 1000))
      t.match(await failureOf(bytesOf(stalled)), { kind: 'timeout' })

      const location = 'https://storage.example/video.mp4?signed=1'
      server.script('content', reply({ status: 302, headers: { location } }))
      const moved = await maker.poll(handle, signal())
      t.match(moved, { state: 'succeeded', videos: [{ url: location }] }, 'without the key where it has moved to')
      server.script('content', html(502))
      t.match(await failureOf(maker.poll(handle, signal())), { kind: 'bad_reply' }, 'asked for again later')
    })
  }
}
