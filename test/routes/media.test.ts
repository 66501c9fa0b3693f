import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { StoredMedia } from '../../services/media/media.ts'
import { buildGateway, startGateway } from '../helpers/gateway.ts'
import { mp4Of, pngOf } from '../services/media/samples.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { until } from '../helpers/until.ts'

const png = pngOf(64, 48)
const base = 'http://gw/v1'

async function putImage (app: FastifyInstance, bytes = png): Promise<{ stored: StoredMedia, url: string }> {
  const stored = await app.media.put(bytes, { kind: 'image', account: 'default' })
  return { stored, url: app.media.url(stored, base).slice('http://gw'.length) }
}

t.test('serves a signed URL without an API key, with headers that sandbox it', async t => {
  const { app } = await buildGateway(t)
  const { stored, url } = await putImage(app)
  const answer = await app.inject({ url })
  t.equal(answer.statusCode, 200)
  t.same(answer.rawPayload, png)
  t.match(answer.headers, {
    'content-type': 'image/png',
    'content-length': String(png.length),
    'accept-ranges': 'bytes',
    etag: /^"[0-9a-f]{32}"$/,
    'last-modified': new Date(stored.createdAt).toUTCString(),
    'cache-control': /^public, max-age=604[78]\d\d, immutable$/,
    'content-disposition': `inline; filename="${stored.id}.png"`,
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    'content-security-policy': /^default-src 'none'; .*sandbox$/,
    'x-request-id': String
  })
})

t.test('answers HEAD with the same headers and no body', async t => {
  const { app } = await buildGateway(t)
  const { url } = await putImage(app)
  const { headers, statusCode, rawPayload } = await app.inject({ method: 'HEAD', url })
  t.equal(statusCode, 200)
  t.equal(rawPayload.length, 0)
  const { headers: full } = await app.inject({ url })
  const varying = { date: '', connection: '', 'x-request-id': '', 'cache-control': '' }
  t.same({ ...headers, ...varying }, { ...full, ...varying })
  for (const range of ['bytes=0-9', 'bytes=999999-']) {
    const part = await app.inject({ method: 'HEAD', url, headers: { range } })
    t.match(part, { statusCode: 200, headers: { 'content-length': full['content-length'], 'content-range': undefined } },
      'a range is for GET only')
  }
})

t.test('answers 412 to a client that wants another file', async t => {
  const { app } = await buildGateway(t)
  const { stored, url } = await putImage(app)
  const { headers: { etag = '' } } = await app.inject({ url })
  const since = new Date(stored.createdAt).toUTCString()
  const before = 'Sat, 01 Jan 2000 00:00:00 GMT'
  const cases: [Record<string, string>, number][] = [
    [{ 'if-match': '"other"' }, 412],
    [{ 'if-match': '"other", "another"', range: 'bytes=0-1' }, 412],
    [{ 'if-match': `W/${etag}` }, 412],
    [{ 'if-match': etag }, 200],
    [{ 'if-match': `"other", ${etag}`, range: 'bytes=0-1' }, 206],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': etag, 'if-none-match': etag }, 304],
    [{ 'if-match': '"other"', 'if-none-match': etag }, 412],
    [{ 'if-unmodified-since': before }, 412],
    [{ 'if-unmodified-since': since }, 200],
    [{ 'if-unmodified-since': 'nonsense' }, 200],
    [{ 'if-match': etag, 'if-unmodified-since': before }, 200]
  ]
  for (const [headers, status] of cases) {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode } = await app.inject({ method, url, headers })
      t.equal(statusCode, method === 'HEAD' && status === 206 ? 200 : status, `${method} ${JSON.stringify(headers)}`)
    }
  }
  const refused = await app.inject({ url, headers: { 'if-match': '"other"' } })
  t.match(refused.json(), { error: { code: 'precondition_failed' } })
})

t.test('answers 304 to a client with a current copy', async t => {
  const { app } = await buildGateway(t)
  const { stored, url } = await putImage(app)
  const { headers: { etag = '' } } = await app.inject({ url })
  const since = new Date(stored.createdAt).toUTCString()
  const cases: [Record<string, string>, number][] = [
    [{ 'if-none-match': etag }, 304],
    [{ 'if-none-match': `"other", W/${etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': etag, range: 'bytes=0-1' }, 304],
    [{ 'if-none-match': '"other"' }, 200],
    [{ 'if-none-match': '"other"', 'if-modified-since': since }, 200],
    [{ 'if-modified-since': since }, 304],
    [{ 'if-modified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }, 200],
    [{ 'if-modified-since': 'nonsense' }, 200]
  ]
  for (const [headers, status] of cases) {
    const answer = await app.inject({ url, headers })
    t.equal(answer.statusCode, status, JSON.stringify(headers))
    t.equal(answer.headers.etag, etag)
    if (status === 304) t.equal(answer.rawPayload.length, 0)
  }
})

t.test('serves ranges', async t => {
  const { app } = await buildGateway(t)
  const { url } = await putImage(app)
  const { headers: { etag, 'last-modified': changed } } = await app.inject({ url })
  const { length } = png
  const cases: [string, number, number, string?][] = [
    ['bytes=0-0', 0, 1],
    ['bytes=10-19', 10, 20],
    ['bytes=10-', 10, length],
    ['bytes=-5', length - 5, length],
    ['bytes=-99999999', 0, length],
    [`bytes=5-${length + 100}`, 5, length],
    [`bytes=${length - 1}-${length - 1}`, length - 1, length],
    ['bytes=0-9', 0, 10, etag],
    ['bytes=0-9', 0, 10, changed]
  ]
  for (const [range, start, end, condition] of cases) {
    const answer = await app.inject({ url, headers: { range, ...(condition === undefined ? {} : { 'if-range': condition }) } })
    t.equal(answer.statusCode, 206, range)
    t.equal(answer.headers['content-range'], `bytes ${start}-${end - 1}/${length}`)
    t.equal(answer.headers['content-length'], String(end - start))
    t.same(answer.rawPayload, png.subarray(start, end))
  }
})

t.test('ignores an invalid range, and answers 416 beyond the end', async t => {
  const { app } = await buildGateway(t)
  const { url } = await putImage(app)
  const whole: Record<string, string>[] = [
    { range: 'bytes=0-1,5-6' }, { range: 'bytes=9-2' }, { range: 'lines=0-1' }, { range: 'bytes=-' }, { range: 'x' },
    { range: 'bytes=0-1', 'if-range': '"other"' }, { range: 'bytes=0-1', 'if-range': 'Sat, 01 Jan 2000 00:00:00 GMT' }
  ]
  for (const headers of whole) {
    const answer = await app.inject({ url, headers })
    t.equal(answer.statusCode, 200, JSON.stringify(headers))
    t.same(answer.rawPayload, png)
  }
  for (const range of [`bytes=${png.length}-`, 'bytes=999999-9999999', 'bytes=-0']) {
    const answer = await app.inject({ url, headers: { range } })
    t.equal(answer.statusCode, 416, range)
    t.equal(answer.headers['content-range'], `bytes */${png.length}`)
    t.match(answer.json().error, { type: 'invalid_request_error', code: 'range_not_satisfiable' })
  }
})

t.test('answers 403 to expired, tampered and foreign signatures and 404 to unknown ids, in OpenAI\'s shape', async t => {
  const { app } = await buildGateway(t)
  const { app: foreign } = await buildGateway(t)
  const { stored, url } = await putImage(app)
  const { id, expiresAt } = stored
  const { url: other } = await putImage(app, pngOf(5, 5))
  const [, query = ''] = url.split('?')
  const [, otherQuery = ''] = other.split('?')
  const expired = app.media.url({ ...stored, expiresAt: Date.now() - 1000 }, base).slice(9)
  const strange = foreign.media.url(stored, base).slice(9)
  const unknown = app.media.url({ ...stored, id: 'f'.repeat(32) }, base).slice(9)
  const path = `/v1/media/${id}.png`
  const cases: [string, number, string][] = [
    [expired, 403, 'url_expired'],
    [expired.replace(id, 'e'.repeat(32)), 404, 'media_not_found'],
    [strange, 403, 'invalid_signature'],
    [path, 403, 'invalid_signature'],
    [`${path}?${query}A`, 403, 'invalid_signature'],
    [`${path}?${query.replace(/exp=\d/, 'exp=9')}`, 403, 'invalid_signature'],
    [`${path}?${query.replace('exp=', 'exp=0')}`, 403, 'invalid_signature'],
    [`${path}?${otherQuery}`, 403, 'invalid_signature'],
    [`${path}?${query}&sig=x`, 403, 'invalid_signature'],
    [`${path}?exp=${Math.floor(expiresAt / 1000)}&sig=`, 403, 'invalid_signature'],
    [`${path}?exp=NaN&sig=x`, 403, 'invalid_signature'],
    [unknown, 404, 'media_not_found'],
    [url.replace(id, 'f'.repeat(32)), 404, 'media_not_found'],
    [url.replace('.png', '.html'), 404, 'media_not_found'],
    [url.replace('.png', '.PNG'), 404, 'media_not_found'],
    [url.replace('.png', ''), 404, 'media_not_found']
  ]
  for (const [address, status, code] of cases) {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await app.inject({ method, url: address })
      t.equal(answer.statusCode, status, `${method} ${address}`)
      t.equal(answer.headers['access-control-allow-origin'], '*')
      t.equal(answer.headers['cache-control'], 'no-store')
      if (method === 'GET') t.match(answer.json().error, { message: String, type: 'invalid_request_error', param: null, code })
    }
  }
})

t.test('rejects path traversal', async t => {
  const { app } = await buildGateway(t)
  const { url } = await putImage(app)
  const [, query = ''] = url.split('?')
  const names = [
    '../../../etc/passwd', '..%2f..%2f..%2fetc%2fpasswd', '%2e%2e%2f%2e%2e%2fetc%2fpasswd', '..%5c..%5cwindows%5cwin.ini',
    '....//....//etc/passwd', '%00.png', `${'0'.repeat(32)}.png%00.html`, `${'0'.repeat(32)}.png%2f..`,
    '..%252f..%252fetc%252fpasswd', 'incoming', '.', '..', '~root', 'C:%5cboot.ini', '/etc/passwd', `${'0'.repeat(30)}..png`,
    `${'A'.repeat(32)}.png`, 'x'.repeat(1000)
  ]
  for (const name of names) {
    const answer = await app.inject({ url: `/v1/media/${name}?${query}` })
    t.equal(answer.statusCode, 404, name)
    t.match(answer.json().error, { type: 'invalid_request_error' })
  }
})

t.test('answers 404 for a missing blob, and logs it', async t => {
  const folder = await temporaryFolder(t)
  const { app, lines } = await buildGateway(t, { env: { TOLLGATE_MEDIA: folder } })
  const { url } = await putImage(app)
  await rm(folder, { recursive: true })
  const answer = await app.inject({ url })
  t.match(answer.json().error, { code: 'media_not_found' })
  t.equal(answer.statusCode, 404)
  t.match(lines.find(({ level }) => level === 50), { msg: 'a media blob is missing' })
})

t.test('allows cross-origin requests, ranges included', async t => {
  const { app } = await buildGateway(t)
  const { url } = await putImage(app)
  const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'GET', 'access-control-request-headers': 'range' }
  const answer = await app.inject({ method: 'OPTIONS', url, headers })
  t.equal(answer.statusCode, 204)
  t.match(answer.headers, {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    'access-control-allow-headers': /range/,
    'access-control-max-age': '86400'
  })
  t.match((await app.inject({ url, headers })).headers['access-control-expose-headers'], /content-range/)
  const wrong = await app.inject({ method: 'POST', url })
  t.equal(wrong.statusCode, 405)
  t.equal(wrong.headers.allow, 'GET, HEAD, OPTIONS')
})

t.test('does not log signatures', async t => {
  const { app, url: api, lines, line } = await startGateway(t)
  const stored = await app.media.put(png, { kind: 'image', account: 'default' })
  const url = app.media.url(stored, api)
  const answer = await fetch(url)
  t.same(Buffer.from(await answer.arrayBuffer()), png)
  t.match(await line(({ path }) => path === '/v1/media/:name'), { method: 'GET', status: 200 })
  t.notMatch(JSON.stringify(lines), new URL(url).searchParams.get('sig') ?? '')
})

t.test('closes the file of a client that disconnects', { skip: process.platform !== 'linux' }, async t => {
  const folder = await temporaryFolder(t)
  const { app, url: api, line } = await startGateway(t, { env: { TOLLGATE_MEDIA: folder } })
  const stored = await app.media.put(mp4Of(64 * 1024 * 1024), { kind: 'video', account: 'default' })
  const { hostname, port, pathname, search } = new URL(app.media.url(stored, api))
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: gw\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  t.equal(openFiles(folder), 1)
  socket.destroy()
  t.match(await line(({ path }) => path === '/v1/media/:name'), { outcome: 'client_gone' })
  await until(() => openFiles(folder) === 0)
  t.equal(openFiles(folder), 0)
})

function openFiles (folder: string): number {
  const targets = readdirSync('/proc/self/fd').map(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return targets.filter(target => target.startsWith(folder)).length
}
