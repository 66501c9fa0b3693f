import t from 'tap'
import { buildGateway, configFor, providerAt } from '../../helpers/gateway.ts'
import { bytesOf } from '../../services/media/helper.ts'
import { startPlainSite } from '../../services/media/web.ts'

const options = { signal: new AbortController().signal, maxBytes: 1000 }
const refused = { name: 'UpstreamError', kind: 'bad_reply' }

t.test('trusts the origin of a provider for its own URLs only', async t => {
  const site = await startPlainSite(t, (_request, response) => response.end('bytes'))
  const origin = `http://127.0.0.1:${site.port}`
  const { app } = await buildGateway(t, { config: configFor(providerAt(`${origin}/api/v1`)) })
  t.equal(String(await bytesOf(await app.download(`${origin}/a.png`, { ...options, provider: 'up' }))), 'bytes')
  await t.rejects(app.download(`${origin}/a.png`, options), refused)
  await t.rejects(app.download(`${origin}/a.png`, { ...options, provider: 'another' }), refused)
})

t.test('trusts the configured origins', async t => {
  const site = await startPlainSite(t, (_request, response) => response.end('bytes'))
  const origin = `http://127.0.0.1:${site.port}`
  const config = configFor(providerAt('http://127.0.0.1:9/v1'))
  const { app } = await buildGateway(t, { config, env: { TOLLGATE_TRUSTED_ORIGINS: origin } })
  t.equal(String(await bytesOf(await app.download(`${origin}/a.png`, { ...options, provider: 'up' }))), 'bytes')
  await t.rejects(app.download(`${origin}/a.png`, options), refused)
})
