import t from 'tap'
import type { Test } from 'tap'
import { build } from '../../../fastify.config.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { readSettings } from '../../../services/config/settings/settings.ts'

async function baseUrlSeen (
  t: Test, env: Record<string, string>, remoteAddress = '127.0.0.1'
): Promise<string> {
  const settings = readSettings({ DATABASE_URL: 'sqlite::memory:', ...env }, '/nonexistent')
  const app = await build({ settings, config: configFromEnvironment({}) })
  t.teardown(() => app.close())
  app.get('/seen', request => request.baseUrl())
  const headers = { host: 'inner:8080', 'x-forwarded-host': 'gw.example.com', 'x-forwarded-proto': 'https' }
  return (await app.inject({ url: '/seen', remoteAddress, headers })).body
}

t.test('without trusted proxies, nobody is believed about where a request came from', async t => {
  t.equal(await baseUrlSeen(t, {}), 'http://inner:8080/v1')
})

t.test('a trusted proxy says which address the client used, another machine does not', async t => {
  const env = { TOLLGATE_TRUST_PROXY: 'loopback, 10.1.0.0/16' }
  t.equal(await baseUrlSeen(t, env), 'https://gw.example.com/v1')
  t.equal(await baseUrlSeen(t, env, '10.1.2.3'), 'https://gw.example.com/v1')
  t.equal(await baseUrlSeen(t, env, '10.2.2.3'), 'http://inner:8080/v1')
})

t.test('PUBLIC_BASE_URL goes before both', async t => {
  const env = { TOLLGATE_TRUST_PROXY: 'loopback', PUBLIC_BASE_URL: 'https://public.example.com' }
  t.equal(await baseUrlSeen(t, env), 'https://public.example.com/v1')
})
