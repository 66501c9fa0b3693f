import t from 'tap'
import { startGateway } from '../../helpers/gateway.ts'

const origin = 'https://app.example.com'
const preflight = {
  method: 'OPTIONS',
  headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-stainless-os' }
}

t.test('a listed origin may call the API, without credentials, and read errors too', async t => {
  const { url } = await startGateway(t, { env: { TOLLGATE_CORS_ORIGINS: `${origin},http://localhost:5173` } })
  const asked = await fetch(`${url}/chat/completions`, preflight)
  t.equal(asked.status, 204)
  t.match(Object.fromEntries(asked.headers), {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': /POST/,
    'access-control-allow-headers': /authorization,\s?x-stainless-os/,
    'access-control-max-age': '3600',
    vary: /origin/i
  })
  const refused = await fetch(`${url}/chat/completions`, { method: 'POST', headers: { origin } })
  t.match([refused.status, refused.headers.get('access-control-allow-origin')], [401, origin])
  t.match(refused.headers.get('access-control-expose-headers'), /x-request-id.*retry-after/)
  for (const answer of [asked, refused]) t.equal(answer.headers.get('access-control-allow-credentials'), null)

  const other = await fetch(`${url}/models`, { headers: { origin: 'https://evil.example.com' } })
  t.equal(other.headers.get('access-control-allow-origin'), null)
})

t.test('no origin is allowed unless the operator lists it', async t => {
  const { url } = await startGateway(t)
  const asked = await fetch(`${url}/chat/completions`, preflight)
  t.same([asked.status, asked.headers.get('access-control-allow-origin')], [204, null])
})

t.test('what a browser app may call is what the API serves', async t => {
  const { app, headers, key } = await startGateway(t, { env: { TOLLGATE_CORS_ORIGINS: origin } })
  const { headers: allowed } = await app.inject({ ...preflight, method: 'OPTIONS', url: '/v1/videos/job_1' })
  t.match(allowed['access-control-allow-methods'], /DELETE/, 'videos and responses are deleted')
  const browser = { ...headers, origin }
  for (const url of ['/v1/v1/chat/completions', '/chat/completions', '/v1/foo']) {
    const answer = await app.inject({ method: 'POST', url, headers: browser })
    t.match([answer.statusCode, answer.json().error.code], [404, 'unknown_url'], url)
  }
  const wrong = await app.inject({ method: 'PUT', url: '/v1/chat/completions', headers: browser })
  t.match([wrong.statusCode, wrong.headers.allow], [405, 'POST'])
  const claude = { 'x-api-key': key, 'anthropic-version': '2023-06-01', origin }
  const models = await app.inject({ url: '/v1/models', headers: claude })
  t.match(models.headers['access-control-expose-headers'], /, request-id,/)
})
