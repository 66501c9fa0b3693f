import t from 'tap'
import { startGateway } from '../../helper.ts'

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
