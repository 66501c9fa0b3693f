import { createHmac } from 'node:crypto'
import t from 'tap'
import { kling } from '../../servers/videos/kling.ts'
import { html, reply, reset } from '../../servers/videos/server.ts'
import type { Wire } from '../../servers/videos/wire.ts'
import { connect, failureOf, find, pictures, signal, taskFor } from './video-jobs/helper.ts'

/** A server that keeps external ids unique, and finds tasks by them. */
const unique: Parameters<typeof connect>[2] = {
  begin: ({ external_task_id: key }, { jobs }) => jobs.some(({ body }) => body.external_task_id === key)
    ? kling.refused('invalid', 'external_task_id already exists')
    : null,
  extra ({ path }, { jobs, url }) {
    const key = decodeURIComponent(path.split('/').at(-1) ?? '')
    const job = jobs.find(({ body }) => body.external_task_id === key)
    return job === undefined ? null : kling.told(job, url)
  }
}

t.test('a second submit with the same key finds the first task', async t => {
  const { server, maker } = await connect(t, kling, unique)
  t.equal(maker.submitsOnce, true)
  const first = await maker.submit(taskFor(kling), signal())
  t.same(await maker.submit(taskFor(kling), signal()), first)
  t.not((await maker.submit(taskFor(kling, { submitKey: 'vid-0002' }), signal())).handle, first.handle)
  t.equal(server.jobs.length, 2)
})

t.test('a task whose answer was lost is found by its key', async t => {
  const { server, maker } = await connect(t, kling, unique)
  const task = taskFor(kling, pictures(kling))
  t.equal(await find(maker, task), null, 'there is none before')
  const { handle } = await maker.submit(task, signal())
  t.equal(await find(maker, task), handle)
  t.match(handle, /^image2video\//)
  server.script('poll', html(502))
  t.match(await failureOf(find(maker, task)), { kind: 'bad_reply' }, 'and it may be unclear')
  server.script('poll', reset)
  t.match(await failureOf(find(maker, task)), { kind: 'network' })
})

t.test('an error with status 200 is an error', async t => {
  const { server, maker } = await connect(t, kling)
  const answer = (code: number) => reply({ body: { code, message: 'Said Kling.', request_id: 'r' } })
  const expected = { 1301: 'moderated', 1303: 'rate', 1102: 'quota', 1002: 'auth', 5001: 'overloaded' }
  for (const [code, kind] of Object.entries(expected)) {
    server.script('submit', answer(Number(code)))
    t.match(await failureOf(maker.submit(taskFor(kling), signal())), { kind, sent: 'yes', message: 'Said Kling.' })
  }
  server.script('submit', answer(5000))
  t.match(await failureOf(maker.submit(taskFor(kling), signal())), { kind: 'bad_reply', sent: 'maybe' })
  const { handle } = await maker.submit(taskFor(kling), signal())
  server.script('poll', answer(1302))
  t.match(await failureOf(maker.poll(handle, signal())), { kind: 'rate' })
})

t.test('a pair of keys becomes a signed token that soon expires', async t => {
  const tokens: string[] = []
  const wire: Wire = {
    ...kling,
    isAuthorized ({ authorization = '' }) {
      tokens.push(authorization.replace('Bearer ', ''))
      return true
    }
  }
  const { server, maker } = await connect(t, wire, { apiKey: 'access:secret-half' })
  await maker.submit(taskFor(kling), signal())
  const [head = '', claims = '', signature] = tokens[0]?.split('.') ?? []
  t.equal(signature, createHmac('sha256', 'secret-half').update(`${head}.${claims}`).digest('base64url'))
  t.same(JSON.parse(Buffer.from(head, 'base64url').toString()), { alg: 'HS256', typ: 'JWT' })
  const { iss, exp, nbf } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const nowS = Date.now() / 1000
  t.equal(iss, 'access')
  t.ok(nbf < nowS && exp > nowS + 60 && exp <= nowS + 1800)
  server.script('submit', reply({ status: 400, body: { code: 1201, message: 'You sent secret-half.' } }))
  t.equal((await failureOf(maker.submit(taskFor(kling), signal()))).message, 'You sent ***.')
})

t.test('a resolution is a mode', async t => {
  const { server, maker } = await connect(t, kling)
  await maker.submit(taskFor(kling, { size: { width: 1080, height: 1920 } }), signal())
  await maker.submit(taskFor(kling, { size: { width: 1280, height: 720 }, ...pictures(kling) }), signal())
  t.match(server.jobs[0]?.body, { mode: 'pro', aspect_ratio: '9:16' })
  t.match(server.jobs[1]?.body, { mode: 'std', aspect_ratio: undefined, image_tail: 'iVBORw0KGgo=' })
})
