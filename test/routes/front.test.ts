import OpenAI from 'openai'
import t from 'tap'
import { buildGateway, startGateway } from '../helpers/gateway.ts'

const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

t.test('a browser is shown what this server is, and a program gets it as JSON', async t => {
  const { app } = await buildGateway(t)
  const host = 'gate.example:8080'
  const shown = await app.inject({ url: '/', headers: { ...page, host } })
  t.equal(shown.statusCode, 200)
  t.match(shown.headers['content-type'], /^text\/html/)
  t.match(shown.headers['content-security-policy'], "default-src 'none'")
  t.match(shown.headers, { vary: 'accept' })
  t.match(shown.body, 'http://gate.example:8080/v1')
  for (const [, address = ''] of shown.body.matchAll(/href="([^"]+)"/g)) {
    const { statusCode } = await app.inject({ url: `/${address}` })
    // The console answers 503 until it is built.
    t.ok(statusCode === 200 || (address === 'console/' && statusCode === 503), `${address}: ${statusCode}`)
  }
  const told = await app.inject({ url: '/', headers: { host } })
  t.match(told.json(), { name: 'Tollgate', base_url: 'http://gate.example:8080/v1', openapi: 'http://gate.example:8080/openapi.json' })
})

t.test('what a client says of its host is never part of the page\'s code', async t => {
  const { app } = await buildGateway(t)
  for (const host of ['<script>alert(1)</script>', '"><img src=x>', "a'b"]) {
    t.notMatch((await app.inject({ url: '/', headers: { ...page, host } })).body, host)
  }
})

t.test('a base URL without /v1, or with two, is told what is wrong', async t => {
  const { url, key } = await startGateway(t)
  const root = url.replace(/\/v1$/, '')
  for (const [baseURL, meant] of [[root, '/v1/chat/completions'], [`${url}/v1`, '/v1/chat/completions']]) {
    const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 })
    const asked = client.chat.completions.create({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hi' }] })
    await t.rejects(asked, { status: 404, code: 'unknown_url', message: new RegExp(`ends with /v1\\. Perhaps you meant ${meant}\\.`) })
  }
})

t.test('the hint is given only where it helps', async t => {
  const { app } = await buildGateway(t)
  const said = async (method: 'GET' | 'POST', url: string) => {
    const answer = await app.inject({ method, url })
    t.equal(answer.statusCode, 404, url)
    return answer.json().error.message
  }
  t.equal(await said('POST', '/nonsense'), 'Invalid URL (POST /nonsense)')
  t.match(await said('GET', '/models'), 'Perhaps you meant /v1/models.')
  t.match(await said('GET', '/v1'), 'Perhaps you meant /v1/chat/completions.')
  t.match(await said('POST', '/chat/completions?x=1'), '(POST /chat/completions) (HINT: ')
})
