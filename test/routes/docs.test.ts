import t from 'tap'
import { request } from 'undici'
import { buildGateway, startGateway } from '../helpers/gateway.ts'

t.test('the reference page and its script come from this server alone', async t => {
  const { url } = await startGateway(t)
  const root = url.replace(/\/v1$/, '')
  const moved = await request(`${root}/docs`)
  t.match([moved.statusCode, moved.headers.location], [301, '/docs/'])
  const page = await request(`${root}/docs/`)
  t.equal(page.statusCode, 200)
  t.match(page.headers['content-type'], /^text\/html/)
  t.match(page.headers['content-security-policy'], /default-src 'none'.*script-src 'self'.*connect-src 'self'/)
  const html = await page.body.text()
  const addresses = [...html.matchAll(/(?:src|href)\s*=\s*"([^"]+)"/g)].map(([, address = '']) => address)
  t.ok(addresses.length > 0)
  for (const address of addresses) t.equal(new URL(address, `${root}/docs/`).origin, root, address)
  t.match(html, 'openapi.json')

  const packed = await request(`${root}/docs/js/scalar.js`, { headers: { 'accept-encoding': 'gzip' } })
  t.equal(packed.headers['content-encoding'], 'gzip')
  const bytes = (await packed.body.arrayBuffer()).byteLength
  const plain = await request(`${root}/docs/js/scalar.js`)
  t.match(plain.headers['content-type'], /^application\/javascript/)
  const text = await plain.body.text()
  t.match(text, 'createApiReference')
  t.ok(bytes < text.length / 2)

  const document = await request(`${root}/openapi.json`)
  t.match(await document.body.json(), { openapi: /^3\.1/, servers: [{ url: '.' }] })
})

t.test('the document says what the server does with a wrong request', async t => {
  const { app, headers } = await buildGateway(t)
  const { paths } = (await app.inject({ url: '/openapi.json' })).json()
  const answer = await app.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload: '{}' })
  t.equal(answer.statusCode, 400)
  t.match(paths['/v1/chat/completions']?.['post']?.responses, { '4XX': { content: { 'application/json': {} } } })
})
