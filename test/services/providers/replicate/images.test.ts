import t, { type Test } from 'tap'
import { catalogueModelNames, modelFromCatalogue } from '../../../../services/config/catalogue/models.ts'
import { failureOf, imageProviderAt, startImageServer, type Reply, type Seen } from '../../../servers/image-server.ts'
import { mismatch, wireFixture } from '../video-jobs/wire.ts'

const { request: requestType = {}, prediction: predictionType = {} } = wireFixture('replicate')

type State = Record<string, unknown>

/** A fake Replicate server that reports `states` in turn, the first one in the response to the submit. */
async function start (t: Test, states: (url: string) => State[]) {
  let polls = 0
  const server = await startImageServer(t, ({ method, path }: Seen, url): Reply => {
    if (path.endsWith('/cancel')) return { json: { id: 'p1', status: 'canceled' } }
    const all = states(url)
    const state = all[Math.min(polls++, all.length - 1)]
    return { status: method === 'POST' ? 201 : 200, json: { id: 'p1', urls: { get: 'https://evil.example.com/p1' }, ...state } }
  })
  return { server, make: imageProviderAt(t, server.url, { protocol: 'replicate' }) }
}

const model = 'black-forest-labs/flux-dev'
const done = (url: string) => ({ status: 'succeeded', output: [`${url}/files/1.png`] })

/** A prediction with all that the client says it has. */
const whole = {
  id: 'p1',
  model,
  version: 'hidden',
  input: {},
  source: 'api',
  data_removed: false,
  created_at: '2026-11-24T00:00:00Z',
  urls: { get: 'https://api.replicate.com/v1/predictions/p1', cancel: 'https://api.replicate.com/v1/predictions/p1/cancel' }
}

t.test('requests have the types of the client, with every size of the catalogue', async t => {
  const { server, make } = await start(t, url => [done(url)])
  const models = catalogueModelNames('replicate').filter(name => modelFromCatalogue('replicate', name).kind === 'image')
  t.ok(models.length > 0)
  for (const name of [...models, `${model}:abc123`]) {
    for (const text of modelFromCatalogue('replicate', name).images?.sizes ?? ['1024x1024']) {
      const [width = 0, height = 0] = text.split('x').map(Number)
      await make({ model: name, size: { width, height } }, { seed: 7, output_format: 'webp', style: 'vivid' })
      const { body } = server.seen.at(-1) ?? {}
      t.equal(mismatch(requestType, body), '', `${name} ${text}`)
    }
  }
})

t.test('every state of the client is understood', async t => {
  const expected: Record<string, string> = {
    starting: 'waits', processing: 'waits', succeeded: 'made', failed: 'bad_reply', canceled: 'bad_reply', aborted: 'bad_reply'
  }
  t.same(Object.keys(expected).toSorted(), [...predictionType.properties.status.enum].toSorted())
  for (const [status, outcome] of Object.entries(expected)) {
    const { server, make } = await start(t, url => {
      const state = { ...whole, ...(status === 'succeeded' ? done(url) : { status, output: null }) }
      t.equal(mismatch(predictionType, state), '', `the mock's ${status}`)
      return [state, done(url)]
    })
    const made = await make({ model }).catch(error => error)
    t.equal(server.seen.length, outcome === 'waits' ? 2 : 1, status)
    t.equal(made.kind ?? 'made', outcome === 'waits' ? 'made' : outcome, status)
  }
})

t.test('needs one request for an image that is ready at once', async t => {
  const { server, make } = await start(t, url => [done(url)])
  const made = await make(
    { model, size: { width: 1216, height: 832 } },
    { output_format: 'jpeg', output_compression: 70, seed: 3, num_outputs: 4, user: 'u' })
  t.match(server.seen, [{
    path: '/models/black-forest-labs/flux-dev/predictions',
    headers: { authorization: 'Bearer sk-upstream-secret', prefer: 'wait=30' }
  }])
  t.same(server.seen[0]?.body, {
    input: { prompt: 'A fox', width: 1216, height: 832, aspect_ratio: '3:2', output_format: 'jpg', output_quality: 70, seed: 3 }
  })
  t.same(made.dropped.toSorted(), ['num_outputs', 'user'])
})

t.test('polls the predictions endpoint, not the URL in the response', async t => {
  const { server, make } = await start(t, url => [{ status: 'starting' }, { status: 'processing' }, done(url)])
  const made = await make({ model: `${model}:abc123` })
  t.equal(made.images.length, 1)
  t.same(server.seen.map(({ path }) => path), ['/predictions', '/predictions/p1', '/predictions/p1'])
  t.equal(server.seen[0]?.body.version, 'abc123')
})

t.test('accepts a single URL as output', async t => {
  const { make } = await start(t, () => [{ status: 'succeeded', output: 'https://replicate.delivery/1.webp' }])
  t.same((await make({ model })).images, [{ url: 'https://replicate.delivery/1.webp', revisedPrompt: null }])
})

t.test('classifies predictions that end without an image', async t => {
  const cases: [State, object][] = [
    [{ status: 'failed', error: 'NSFW content detected. Try another prompt.' }, { kind: 'moderated' }],
    [{ status: 'failed', error: 'CUDA out of memory' }, { kind: 'bad_reply', message: 'CUDA out of memory' }],
    [{ status: 'canceled' }, { kind: 'bad_reply' }],
    [{ status: 'aborted' }, { kind: 'bad_reply' }],
    [{ status: 'succeeded', output: null }, { kind: 'bad_reply' }],
    [{ id: 'a/../../account', status: 'starting' }, { kind: 'bad_reply' }]
  ]
  for (const [state, expected] of cases) {
    t.match(await failureOf((await start(t, () => [state])).make({ model })), { sent: 'yes', ...expected })
  }
})

t.test('cancels the prediction when aborted', async t => {
  const { server, make } = await start(t, () => [{ status: 'processing' }])
  const aborter = new AbortController()
  const pending = make({ model, signal: aborter.signal })
  await server.next()
  await server.next()
  aborter.abort()
  t.match(await failureOf(pending), { kind: 'aborted' })
  let seen = await server.next()
  while (seen.method !== 'POST') seen = await server.next()
  t.equal(seen.path, '/predictions/p1/cancel')
})
