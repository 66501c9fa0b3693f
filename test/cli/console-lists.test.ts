import t from 'tap'
import { buildGateway } from '../helpers/gateway.ts'
import { createCommandLine } from './helper.ts'

t.test('media and providers are listed as by the admin API', async t => {
  const { url, run, json } = await createCommandLine(t)
  const { app, headers } = await buildGateway(t, { env: { DATABASE_URL: url } })
  const image = { method: 'POST' as const, url: '/v1/images/generations', headers }
  const made = await app.inject({ ...image, payload: { model: 'sandbox-image', prompt: 'a bridge', size: '64x64' } })
  t.equal(made.statusCode, 200)
  await app.flushRequestLog()
  const { data: [media] } = await json('media', '--kind', 'image')
  t.match(media, { object: 'media', kind: 'image', account: 'default', width: 64, height: 64 })
  const { pathname, search } = new URL(media.url)
  t.equal((await app.inject({ url: pathname + search })).statusCode, 200, 'the link works')
  t.notMatch((await run('media', '--kind', 'video')).out, media.id)
  const { data } = await json('providers')
  t.match(data.find(({ id }: { id: string }) => id === 'sandbox'), { object: 'provider', protocol: 'sandbox', calls: 1, failed_calls: 0 })
  t.match(await run('providers'), { code: 0, out: /^sandbox +sandbox +\d+ +1 +0 /m })
})
