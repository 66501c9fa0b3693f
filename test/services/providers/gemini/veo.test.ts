import t from 'tap'
import { knownVideoModelNames } from '../../../../services/catalogue/videos.ts'
import { thrown } from '../../../thrown.ts'
import { veo } from '../../../servers/videos/veo.ts'
import { connect, failureOf, signal, taskFor } from '../video-jobs/helper.ts'

t.test('Veo: the key follows a redirect within the provider\'s own host', async t => {
  for (const origin of ['https://generativelanguage.googleapis.com', undefined]) {
    const { origin: _, ...elsewhere } = veo
    const { server, provider } = await connect(t, { ...elsewhere, ...(origin !== undefined && { origin }) })
    const { handle } = await provider.submit(taskFor(veo), signal())
    server.set('succeeded')
    const ended = await provider.poll(handle, signal())
    const [file] = ended.state === 'succeeded' ? ended.videos : []
    if (file === undefined || 'url' in file) return t.fail('no file')
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
