import { Type } from '@sinclair/typebox'
import t from 'tap'
import { prediction, replicate } from '../../../servers/videos/replicate.ts'
import type { VideoServer } from '../../../servers/videos/server.ts'
import { connect, failureOf, find, signal, taskFor } from '../video-jobs/helper.ts'
import { checkStates, mismatch, wireFixture } from '../video-jobs/wire.ts'

const { request = {}, prediction: predictionType = {}, page = {} } = wireFixture('replicate')

const pageSize = 2

/** The list of predictions, newest first. */
function list ({ path }: { path: string }, { jobs, url }: VideoServer) {
  if (!path.startsWith('/predictions')) return null
  const from = Number(new URLSearchParams(path.split('?')[1]).get('cursor') ?? 0)
  const all = jobs.toReversed().map(job => prediction(job, ''))
  const next = from + pageSize < all.length ? `${url}/predictions?cursor=${from + pageSize}` : null
  return { body: { previous: null, next, results: all.slice(from, from + pageSize) } }
}

t.test('Replicate: every state of its client', async t => {
  await checkStates(t, replicate, predictionType, {
    starting: 'queued',
    processing: 'running',
    succeeded: 'succeeded',
    failed: 'failed',
    canceled: 'cancelled',
    aborted: 'cancelled'
  }, 'status')
})

t.test('Replicate: requests and lists have the types of its client', async t => {
  const { server, provider } = await connect(t, { ...replicate, submit: { path: /./, schema: Type.Object({}) } }, {
    extra: (received, server) => {
      const answer = list(received, server)
      if (answer !== null) t.equal(mismatch(page, answer.body), '', 'the list of the mock')
      return answer
    }
  })
  for (const model of ['owner/name:abc123', replicate.model]) {
    await provider.submit(taskFor(replicate, { model }), signal())
    t.equal(mismatch(request, server.jobs.at(-1)?.body), '', model)
  }
  t.type(await find(provider, task('vid-0001')), 'string')
})

const task = (submitKey: string, submittedAt?: number) => taskFor(replicate, { submitKey, submittedAt })

t.test('finds a prediction by its submit key on any page', async t => {
  const { provider } = await connect(t, replicate, { extra: list })
  const handles = new Map<string, string>()
  for (const key of ['a', 'b', 'c', 'd', 'e']) handles.set(key, (await provider.submit(task(key), signal())).handle)
  for (const [key, handle] of handles) t.equal(await find(provider, task(key)), handle, key)
  t.equal(await find(provider, task('z')), null)
})

t.test('stops at predictions older than the submit', async t => {
  const { server, provider } = await connect(t, replicate, { extra: list })
  for (const key of ['a', 'b', 'c']) await provider.submit(task(key), signal())
  for (const job of server.jobs) job.createdAt -= 3_600_000
  t.equal(await find(provider, task('z', Date.now())), null)
  t.equal(server.requests.filter(({ kind }) => kind === 'list').length, 1)
})

t.test('throws if the inputs were deleted', async t => {
  const { server, provider } = await connect(t, replicate, {
    extra: (received, server) => {
      const answer = list(received, server)
      const results = answer?.body.results.map(one => ({ ...one, input: {}, data_removed: true }))
      return answer && { body: { ...answer.body, results } }
    }
  })
  await provider.submit(task('a'), signal())
  t.match(await failureOf(find(provider, task('a'))), { kind: 'bad_reply' })
  for (const job of server.jobs) job.createdAt -= 3_600_000
  t.equal(await find(provider, task('a', Date.now())), null, 'unless it is older than the submit')
})

t.test('sends a version, and uses the frame names of the model', async t => {
  const { server, provider } = await connect(t, {
    ...replicate,
    submit: { path: /^\/(models\/[^/]+\/[^/]+\/)?predictions$/, schema: Type.Object({}) }
  })
  const firstFrame = { url: 'https://a.example/b.png' }
  for (const model of ['owner/name:abc123', 'kwaivgi/kling-v2.1', 'minimax/hailuo-02', 'google/veo-3.1']) {
    const size = model.startsWith('minimax') ? { width: 1366, height: 768 } : { width: 1280, height: 720 }
    await provider.submit(taskFor(replicate, { model, size, firstFrame, lastFrame: firstFrame }), signal())
  }
  const url = firstFrame.url
  t.match(server.jobs.map(({ body }) => body), [
    { version: 'abc123', input: { image: url } },
    { input: { start_image: url, end_image: url, mode: 'standard', generate_audio: undefined } },
    { input: { first_frame_image: url, last_frame_image: url } },
    { input: { image: url, last_frame: url } }
  ])
})
