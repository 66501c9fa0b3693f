import t from 'tap'
import { knownVideoModelNames } from '../../../../services/config/catalogue/videos.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { reply } from '../../../servers/videos/server.ts'
import { veo } from '../../../servers/videos/veo.ts'
import { connect, failureOf, signal, taskFor } from '../video-jobs/helper.ts'
import { checkWire, mismatch, wireFixture } from '../video-jobs/wire.ts'

const { request = {}, answer = {} } = wireFixture('veo-videos')

t.test('Veo: every wish has the types of the SDKs', async t => {
  await checkWire(t, {
    api: veo,
    models: ['veo-3.1-generate-preview', 'veo-3.1-fast-generate-preview'],
    request: () => request,
    fields: {
      seconds: 'parameters.durationSeconds',
      seed: 'parameters.seed',
      sound: 'parameters.generateAudio',
      sizes: ['parameters.aspectRatio', 'parameters.resolution'],
      text: 'instances.0.prompt'
    }
  })
})

t.test('Veo: every answer of the mock has the types of the SDKs', async t => {
  const job = { id: 'v1', body: {}, path: '', createdAt: 0 }
  t.equal(mismatch(answer, veo.submitResponse({ ...job, state: 'running' }).body), '')
  for (const state of veo.states) t.equal(mismatch(answer, veo.pollResponse({ ...job, state }, '').body), '', state)
})

t.test('Veo: the key follows a redirect within the provider\'s own host', async t => {
  for (const origin of ['https://generativelanguage.googleapis.com', undefined]) {
    const { origin: _, ...elsewhere } = veo
    const { server, provider } = await connect(t, { ...elsewhere, ...(origin !== undefined && { origin }) })
    const { handle } = await provider.submit(taskFor(veo), signal())
    server.set('succeeded')
    const ended = await provider.poll(handle, signal())
    const [file] = ended.state === 'succeeded' ? ended.videos : []
    if (file === undefined || !('open' in file)) return t.fail('no file')
    const exchange = await file.open(signal())
    t.equal((await exchange.read(1e6)).length, server.video.length)
    t.equal(server.requests.filter(({ kind }) => kind === 'content').length, 3)
  }
})

t.test('Veo: a circle of redirects ends', async t => {
  const { server, provider } = await connect(t, veo)
  const { handle } = await provider.submit(taskFor(veo), signal())
  server.set('succeeded')
  for (let count = 0; count < 6; count++) {
    server.script('content', (response, { path }) => { response.writeHead(302, { location: `${veo.base}${path}` }).end() })
  }
  t.match(await failureOf(provider.poll(handle, signal())), { kind: 'bad_reply' })
})

t.test('Veo: the number of an operation\'s error says whose fault it is', async t => {
  const { server, provider } = await connect(t, veo)
  const { handle } = await provider.submit(taskFor(veo), signal())
  const cases: [number, string, string][] = [
    [3, 'The prompt could not be submitted. It violates our usage guidelines.', 'moderated'],
    [3, 'The parameter is wrong.', 'bad_request'],
    [4, 'Deadline expired.', 'timeout'],
    [7, 'Permission denied.', 'auth'],
    [8, 'Quota exceeded.', 'rate'],
    [13, 'Internal error.', 'bad_reply'],
    [14, 'Try again later.', 'overloaded'],
    [16, 'Request had invalid authentication credentials.', 'auth']
  ]
  for (const [code, message, kind] of cases) {
    server.script('poll', reply({ body: { name: 'operations/1', done: true, error: { code, message } } }))
    t.match(await provider.poll(handle, signal()), { state: 'failed', error: { kind, message } }, `${code} ${message}`)
  }
})

t.test('Veo: refuses lengths that there are not', async t => {
  const { provider } = await connect(t, veo)
  const large = { width: 1920, height: 1080 }
  for (const wish of [{ seconds: 5 }, { seconds: 4, size: large }]) {
    t.match(thrown(() => provider.check(taskFor(veo, wish))), { details: { param: 'video.seconds' } })
  }
})

t.test('Veo: the catalogue has no model that the Gemini API has shut down', async t => {
  t.same(knownVideoModelNames('gemini').filter(name => name.startsWith('veo')), [])
})
