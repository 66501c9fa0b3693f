import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import t from 'tap'
import { request } from 'undici'
import { buildGateway, startGateway } from '../helper.ts'

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

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const skip = executablePath === undefined ? 'there is no Chromium on this machine' : false

t.test('the page can be read in a browser, and tries an operation out with a key', { skip }, async t => {
  const { url, key } = await startGateway(t)
  const browser = await chromium.launch({ ...executablePath !== undefined && { executablePath }, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', message => {
    if (/content security policy/i.test(message.text())) problems.push(message.text())
  })
  await page.goto(url.replace(/\/v1$/, '/docs/#tag/models/GET/v1/models'))
  await page.locator('button', { hasText: '(get /v1/models)' }).click()
  await page.getByRole('dialog').getByPlaceholder('Token').fill(key)
  await page.locator('button', { hasText: 'Send Request' }).click()
  const answer = page.getByRole('dialog').getByText('sandbox-image')
  await answer.first().waitFor()
  t.ok(await page.getByRole('dialog').getByText('200 OK').isVisible())
  t.same(problems, [])
})
