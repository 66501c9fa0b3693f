import { createHmac } from 'node:crypto'
import t from 'tap'
import { kling } from '../../servers/videos/kling.ts'
import { html, reply, reset } from '../../servers/videos/server.ts'
import type { FakeVideoApi } from '../../servers/videos/fake-api.ts'
import { thrown } from '../../helpers/thrown.ts'
import { connect, failureOf, find, framesFor, signal, taskFor } from './video-jobs/helper.ts'
import { checkCatalogue, checkStates, checkWire, mismatch, wireFixture, type Form, type WireSchema } from './video-jobs/wire.ts'
import { knownVideoModelNames } from '../../../services/config/catalogue/videos.ts'

const { submitted = {}, answer = {}, text = {}, frames = {}, ...listed } = wireFixture('kling-videos')
const textModels: readonly string[] = listed['text models']?.enum
const models: readonly string[] = listed['picture models']?.enum

const schemas = new Map<string, WireSchema>()

/** The schema of a model's requests: sound came with version 2.6, and the master models have no modes. */
function request (model: string, form: Form): WireSchema | null {
  if (form === 'text' && !textModels.includes(model)) return null
  const { properties, required, ...rest } = form === 'text' ? text : frames
  const { sound, mode, ...others } = properties
  const own = { ...(/^kling-v(2-6|3)/.test(model) && { sound }), ...(!model.endsWith('-master') && { mode }) }
  const schema = { ...rest, properties: { ...others, ...own }, required: [...required, ...Object.keys(own)] }
  const known = schemas.get(`${form} ${model}`) ?? schema
  schemas.set(`${form} ${model}`, known)
  return known
}

t.test('Kling: every wish for every model', async t => {
  await checkWire(t, {
    api: kling,
    models,
    request,
    fields: { seconds: 'duration', seed: 'seed', sound: 'sound', sizes: ['aspect_ratio'], text: 'prompt' },
    // Sound needs the mode `pro` in version 2.6.
    usual: model => model === 'kling-v2-6' ? { size: { width: 1920, height: 1080 } } : {}
  })
})

t.test('Kling: every state, and the answer to a submit', async t => {
  await checkStates(t, kling, answer, {
    submitted: 'queued', processing: 'running', succeed: 'succeeded', failed: 'failed'
  }, 'data.task_status')
  const { body } = kling.submitResponse({ id: 'k1', state: 'queued', body: {}, path: '', createdAt: 0 })
  t.equal(mismatch(submitted, body), '')
})

t.test('Kling: the catalogue has the models of the SDK, and what they take', async t => {
  const newer = ['kling-3.0-turbo', 'kling-v3-omni', 'kling-video-o1']
  t.same(knownVideoModelNames('kling').toSorted(), [...models, ...newer].toSorted())
  checkCatalogue(t, 'kling', models, request, 'sound')
})

t.test('Kling: version 2.6 refuses sound below 1080p, where it is not made', async t => {
  const { provider } = await connect(t, kling)
  const task = taskFor(kling, { model: 'kling-v2-6', audio: true })
  t.match(thrown(() => provider.check(task)), { kind: 'bad_request', details: { param: 'video.audio' } })
  provider.check({ ...task, audio: false })
  provider.check({ ...task, size: { width: 1920, height: 1080 } })
})

/** Enforces unique external ids, and finds tasks by them. */
const unique: Parameters<typeof connect>[2] = {
  begin: ({ external_task_id: key }, { jobs }) => jobs.some(({ body }) => body.external_task_id === key)
    ? kling.errorResponse('invalid', 'external_task_id already exists')
    : null,
  extra ({ path }, { jobs, url }) {
    const key = decodeURIComponent(path.split('/').at(-1) ?? '')
    const job = jobs.find(({ body }) => body.external_task_id === key)
    return job === undefined ? null : kling.pollResponse(job, url)
  }
}

t.test('returns the first task for a second submit with the same key', async t => {
  const { server, provider } = await connect(t, kling, unique)
  t.equal(provider.submitsOnce, true)
  const first = await provider.submit(taskFor(kling), signal())
  t.same(await provider.submit(taskFor(kling), signal()), first)
  t.not((await provider.submit(taskFor(kling, { submitKey: 'vid-0002' }), signal())).handle, first.handle)
  t.equal(server.jobs.length, 2)
})

t.test('finds a task by its submit key after a lost response', async t => {
  const { server, provider } = await connect(t, kling, unique)
  const task = taskFor(kling, framesFor(kling))
  t.equal(await find(provider, task), null, 'not submitted yet')
  const { handle } = await provider.submit(task, signal())
  t.equal(await find(provider, task), handle)
  t.match(handle, /^image2video\//)
  server.script('poll', html(502))
  t.match(await failureOf(find(provider, task)), { kind: 'bad_reply' }, 'unknown outcome')
  server.script('poll', reset)
  t.match(await failureOf(find(provider, task)), { kind: 'network' })
})

t.test('recognizes errors with status 200', async t => {
  const { server, provider } = await connect(t, kling)
  const answer = (code: number) => reply({ body: { code, message: 'Message of Kling.', request_id: 'r' } })
  const expected = { 1301: 'moderated', 1303: 'rate', 1102: 'quota', 1002: 'auth', 5001: 'overloaded' }
  for (const [code, kind] of Object.entries(expected)) {
    server.script('submit', answer(Number(code)))
    t.match(await failureOf(provider.submit(taskFor(kling), signal())), { kind, sent: 'yes', message: 'Message of Kling.' })
  }
  server.script('submit', answer(5000))
  t.match(await failureOf(provider.submit(taskFor(kling), signal())), { kind: 'bad_reply', sent: 'maybe' })
  const { handle } = await provider.submit(taskFor(kling), signal())
  server.script('poll', answer(1302))
  t.match(await failureOf(provider.poll(handle, signal())), { kind: 'rate' })
})

t.test('derives a short-lived signed token from a key pair', async t => {
  const tokens: string[] = []
  const api: FakeVideoApi = {
    ...kling,
    isAuthorized ({ authorization = '' }) {
      tokens.push(authorization.replace('Bearer ', ''))
      return true
    }
  }
  const { server, provider } = await connect(t, api, { apiKey: 'access:secret-half' })
  await provider.submit(taskFor(kling), signal())
  const [head = '', claims = '', signature] = tokens[0]?.split('.') ?? []
  t.equal(signature, createHmac('sha256', 'secret-half').update(`${head}.${claims}`).digest('base64url'))
  t.same(JSON.parse(Buffer.from(head, 'base64url').toString()), { alg: 'HS256', typ: 'JWT' })
  const { iss, exp, nbf } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const nowS = Date.now() / 1000
  t.equal(iss, 'access')
  t.ok(nbf < nowS && exp > nowS + 60 && exp <= nowS + 1800)
  server.script('submit', reply({ status: 400, body: { code: 1201, message: 'You sent secret-half.' } }))
  t.equal((await failureOf(provider.submit(taskFor(kling), signal()))).message, 'You sent ***.')
})

t.test('maps the resolution to a mode', async t => {
  const { server, provider } = await connect(t, kling)
  await provider.submit(taskFor(kling, { size: { width: 1080, height: 1920 }, isSizeAsked: true }), signal())
  await provider.submit(taskFor(kling, { size: { width: 1280, height: 720 }, ...framesFor(kling) }), signal())
  t.match(server.jobs[0]?.body, { mode: 'pro', aspect_ratio: '9:16' })
  t.match(server.jobs[1]?.body, { mode: 'std', aspect_ratio: undefined, image_tail: 'iVBORw0KGgo=' })
})
