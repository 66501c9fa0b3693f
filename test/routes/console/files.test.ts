import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import t from 'tap'
import errors from '../../../plugins/gateway/errors.ts'
import routeTable from '../../../plugins/gateway/route-table.ts'
import trace from '../../../plugins/gateway/request-record.ts'
import files from '../../../routes/console/files.ts'
import unserved from '../../../routes/unserved.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { temporaryFolder } from '../../helpers/process.ts'

const page = '<!doctype html><title>Console</title>'
const script = 'export const one = 1\n'.repeat(100)

async function serve (t: Parameters<typeof temporaryFolder>[0], isBuilt = true) {
  const root = await temporaryFolder(t)
  if (isBuilt) {
    await mkdir(join(root, 'assets'))
    await writeFile(join(root, 'index.html'), page)
    await writeFile(join(root, 'assets', 'main-d41d8cd9.js'), script)
    await writeFile(join(root, 'assets', 'main-d41d8cd9.js.br'), brotliCompressSync(script))
    await writeFile(join(root, 'assets', 'main-d41d8cd9.js.gz'), gzipSync(script))
  }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(trace)
  await app.register(errors)
  await app.register(routeTable)
  await app.register(files, { prefix: '/console', root, publicBaseUrl: 'https://gateway.example.com/v1' })
  await app.register(unserved)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return async (path: string, options: RequestInit = {}) => {
    const answer = await fetch(url + path, { redirect: 'manual', ...options })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
}

t.test('every path of the console gets its first page, which is asked for again each time', async t => {
  const get = await serve(t)
  for (const path of ['/console', '/console/', '/console/index.html', '/console/requests', '/console/requests/req_1?x=1', '/console/assets', '/console//', '/console/a/../b']) {
    const { status, headers, text } = await get(path)
    t.same([status, text, headers.get('content-type'), headers.get('cache-control')],
      [200, page, 'text/html; charset=utf-8', 'no-cache'], path)
    const policy = headers.get('content-security-policy') ?? ''
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'")
    t.match(policy, "img-src 'self' https://gateway.example.com data: blob:")
    t.notMatch(policy, 'unsafe')
    t.equal(headers.get('x-content-type-options'), 'nosniff')
  }
})

t.test('files with a digest in their name are kept for good, and sent compressed', async t => {
  const get = await serve(t)
  for (const encoding of ['br', 'gzip', 'identity']) {
    const { status, headers, text } = await get('/console/assets/main-d41d8cd9.js', { headers: { 'accept-encoding': encoding } })
    t.same([status, text, headers.get('content-encoding')], [200, script, encoding === 'identity' ? null : encoding])
    t.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
    t.match(headers.get('content-type'), /javascript; charset=utf-8$/)
    t.match(headers.get('vary'), /accept-encoding/i)
  }
})

t.test('HEAD has the headers of GET and no content', async t => {
  const get = await serve(t)
  const { status, headers, text } = await get('/console/assets/main-d41d8cd9.js', {
    method: 'HEAD', headers: { 'accept-encoding': 'br' }
  })
  t.same([status, text, headers.get('content-encoding')], [200, '', 'br'])
  t.ok(Number(headers.get('content-length')) > 0)
})

t.test('what is not there, outside, or not a GET is refused', async t => {
  const get = await serve(t)
  t.equal((await get('/console/assets/gone-00000000.js')).status, 404)
  for (const path of ['/console/assets/%2e%2e/%2e%2e/package.json', '/console/..%2fpackage.json', '/console/%2e%2e%2f%2e%2e%2fetc%2fpasswd']) {
    t.notMatch((await get(path)).text, /"name"|root:/, path)
  }
  t.match(JSON.parse((await get('/console/requests', { method: 'POST' })).text), { error: { type: 'invalid_request_error' } })
  t.equal((await get('/elsewhere')).status, 404, 'other paths are not pages')
})

t.test('without its files the console says how to build them', async t => {
  const get = await serve(t, false)
  for (const path of ['/console', '/console/', '/console/requests']) {
    t.match(await get(path), { status: 503, text: /npm run build:console/ }, path)
  }
})

t.test('the gateway serves the console, and its front page links to it', async t => {
  const { url } = await startGateway(t)
  const isBuilt = existsSync(join(import.meta.dirname, '../../../console/dist/index.html'))
  t.equal((await fetch(new URL('/console/', url))).status, isBuilt ? 200 : 503)
  t.match(await (await fetch(new URL('/console/session', url))).json(), { signed_in: false })
  const front = await fetch(new URL('/', url), { headers: { accept: 'text/html' } })
  t.match(await front.text(), '<a href="console/">')
  t.match(await (await fetch(new URL('/v1/nothing', url))).json(), { error: { code: 'unknown_url' } })
})
