import t, { type Test } from 'tap'
import { failureOf, imageProviderAt, startImageServer, type Reply, type Seen } from '../../../image-server.ts'

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
