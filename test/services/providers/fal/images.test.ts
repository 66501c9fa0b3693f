import t, { type Test } from 'tap'
import { catalogueModelNames, modelFromCatalogue } from '../../../../services/config/catalogue/models.ts'
import { declaredImages } from '../../../../services/providers/fal/image-fields.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import { failureOf, imageProviderAt, startImageServer, type Reply, type Seen } from '../../../servers/image-server.ts'
import { mismatch, wireFixture, type WireSchema } from '../video-jobs/wire.ts'

const { source, ...models } = wireFixture('fal-images')
const { status: statusType = {} } = wireFixture('fal')

const jobs = '/fal-ai/flux/requests/'

interface Script {
  submit?: Reply
  /** States before the work is complete. */
  states?: string[]
  result?: Reply
}

/** A fake fal queue. */
async function start (t: Test, { submit, states = ['IN_QUEUE', 'IN_PROGRESS'], result }: Script = {}) {
  let submitted = 0
  const polls = new Map<string, number>()
  const server = await startImageServer(t, ({ method, path }: Seen, url): Reply => {
    if (method === 'PUT') return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } }
    if (method === 'POST') return submit ?? { json: { request_id: `job-${++submitted}`, status: 'IN_QUEUE', queue_position: 1 } }
    if (!path.endsWith('/status')) {
      return result ?? { json: { images: [{ url: `${url}/files/1.png`, width: 8, height: 8 }], has_nsfw_concepts: [false] } }
    }
    const times = polls.get(path) ?? 0
    polls.set(path, times + 1)
    return { json: { status: states[times] ?? 'COMPLETED' } }
  })
  return { server, make: imageProviderAt(t, server.url, { protocol: 'fal' }) }
}

t.test('fal: requests of every kind of model have its client\'s types and state what was asked for', async t => {
  const { server, make } = await start(t, { states: [] })
  const wishes = { seed: 5, negative_prompt: 'a dog', output_format: 'webp', quality: 'low' } as const
  const squares = [1024, 2048].map(side => ({ width: side, height: side }))
  const sizes = [...squares, { width: 1536, height: 1024 }, null]
  await Promise.all(Object.keys(models).flatMap(model => sizes.map(async size => {
    const prompt = `${model} ${JSON.stringify(size)}`
    const made = await make({ model, size, quality: 'low' }, { ...wishes, prompt }).catch(error => error)
    const { properties: fields, ...input } = models[model]?.input
    const body = server.seen.find(({ body }) => body.prompt === prompt)?.body
    if (made instanceof UpstreamError) {
      t.match(made, { kind: 'bad_request', sent: 'no', details: { param: 'size' } }, `${prompt}: ${made.message}`)
      const hasRatio = fields.aspect_ratio?.enum?.includes('1:1') === true && size?.width === size?.height
      t.notOk(fields.image_size?.anyOf !== undefined || hasRatio, prompt)
      return t.equal(body, undefined, 'nothing was sent')
    }
    t.equal(mismatch({ ...input, properties: fields }, body), '', JSON.stringify(body))
    if (size !== null) t.ok(body?.image_size ?? body?.aspect_ratio, `${prompt} is stated`)
    const resolutions: string[] = fields.resolution?.enum ?? []
    if (resolutions.includes('2K')) t.equal(body?.resolution, size?.width === 2048 ? '2K' : '1K', prompt)
    for (const name of ['seed', 'negative_prompt', 'quality']) {
      t.equal(body?.[name] === undefined, fields[name] === undefined, `${prompt}: ${name}`)
      t.equal(made.dropped.includes(name), fields[name] === undefined, `${prompt}: ${name} is named if it was dropped`)
    }
  })))
  for (const [model, { output }] of Object.entries(models)) {
    const { images, image } = output.properties
    t.ok((image ?? images.items).properties.url, `${model}: its answer has what is read`)
  }
})

t.test('fal: every model of the catalogue is one that its client declares', t => {
  const listed = catalogueModelNames('fal').filter(name => modelFromCatalogue('fal', name).kind === 'image')
  const declared = declaredImages()
  t.same(listed.filter(name => !declared.includes(name)), [])
  t.ok(listed.length > 0)
  t.end()
})

t.test('fal: every state of its queue but the last is waited for', async t => {
  const states: string[] = statusType.anyOf.flatMap((one: WireSchema) => one.properties.status.enum)
  t.same(states.toSorted(), ['COMPLETED', 'IN_PROGRESS', 'IN_QUEUE'])
  const { server, make } = await start(t, { states: states.filter(state => state !== 'COMPLETED') })
  await make({ model: 'fal-ai/flux/dev' })
  t.equal(server.seen.filter(({ path }) => path.endsWith('/status')).length, states.length)
})

t.test('submits an image to the queue, polls, and fetches the result', async t => {
  const { server, make } = await start(t)
  const made = await make(
    { model: 'fal-ai/flux/dev', size: { width: 1344, height: 768 } },
    { seed: 5, output_format: 'jpeg', style: 'vivid', num_images: 4, webhook_url: 'https://x.example.com' })
  t.match(server.seen[0], {
    method: 'POST',
    path: '/fal-ai/flux/dev',
    headers: { authorization: 'Key sk-upstream-secret', 'x-fal-object-lifecycle-preference': '{"expiration_duration_seconds":3600}' }
  })
  t.same(server.seen[0]?.body, {
    prompt: 'A fox', num_images: 1, image_size: { width: 1344, height: 768 }, seed: 5, output_format: 'jpeg'
  })
  t.same(server.seen.slice(1).map(({ path }) => path),
    [...Array(3).fill(`${jobs}job-1/status`), `${jobs}job-1`], 'polls the app, not the model')
  t.same(made.dropped.toSorted(), ['num_images', 'style', 'webhook_url'])
  t.same(made.images, [{ url: `${server.url}/files/1.png`, revisedPrompt: null }])
})

t.test('submits one job per image', async t => {
  const { server, make } = await start(t, { states: [] })
  t.equal((await make({ model: 'fal-ai/flux/dev', count: 3 })).images.length, 3)
  t.equal(server.seen.filter(({ method }) => method === 'POST').length, 3)
})

t.test('treats a flagged image as moderated', async t => {
  const result = { json: { images: [{ url: 'https://x.example.com/black.png' }], has_nsfw_concepts: [true] } }
  t.match(await failureOf((await start(t, { result })).make({ model: 'fal-ai/flux/dev' })), { kind: 'moderated' })
})

t.test('classifies failures of the submit and of the result', async t => {
  const detail = (type: string) => ({ detail: [{ loc: ['body', 'prompt'], msg: 'Not so.', type }] })
  const cases: [Script, object][] = [
    [{ submit: { status: 401, json: { detail: 'Invalid key sk-upstream-secret' } } }, { kind: 'auth', message: /^((?!secret).)*$/ }],
    [{ submit: { status: 422, json: detail('value_error') } }, { kind: 'bad_request', message: 'Not so.' }],
    [{ submit: { json: { request_id: '../../keys' } } }, { kind: 'bad_reply' }],
    [{ result: { status: 422, json: detail('content_policy_violation') } }, { kind: 'moderated' }],
    [{ result: { status: 500, json: { detail: 'Worker died' } } }, { kind: 'bad_reply', sent: 'yes' }],
    [{ result: { json: { images: [] } } }, { kind: 'bad_reply' }]
  ]
  for (const [script, expected] of cases) {
    t.match(await failureOf((await start(t, { states: [], ...script })).make({ model: 'fal-ai/flux/dev' })), expected)
  }
})

t.test('cancels the job when aborted', async t => {
  const { server, make } = await start(t, { states: Array(100).fill('IN_QUEUE') })
  const aborter = new AbortController()
  const pending = make({ model: 'fal-ai/flux/dev', signal: aborter.signal })
  await server.next()
  await server.next()
  aborter.abort()
  t.match(await failureOf(pending), { kind: 'aborted', sent: 'yes' })
  let seen = await server.next()
  while (seen.method !== 'PUT') seen = await server.next()
  t.equal(seen.path, `${jobs}job-1/cancel`)
})
