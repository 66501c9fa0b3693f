import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { Test } from 'tap'
import type { DownloadLimits } from '../../../services/media/download.ts'
import { createDownloader } from '../../../services/media/download.ts'
import type { Download } from '../../../services/media/media.ts'
import type { Network } from '../../../services/media/public-connector.ts'
import { bytesOf, createWorld } from './helper.ts'
import { pngOf } from './samples.ts'
import { internetOf, startPlainSite, startSite } from './web.ts'

const png = pngOf(10, 10)
const maxBytes = 10_000
const names = { 'cdn.example': ['127.0.0.1'], 'other.example': ['127.0.0.1'] }

interface More { network?: Network, limits?: Partial<DownloadLimits>, trusted?: Record<string, string[]> }

/** By default on an Internet with two names. */
function downloaderFor (
  t: Test, { network = internetOf(names), limits = {}, trusted = {} }: More = {}
): Download {
  const { download, close } = createDownloader({
    trustedOrigins: provider => new Set(trusted[provider]), limits, network
  })
  t.teardown(close)
  return download
}

async function fetchWith (
  download: Download, url: string, more: { signal?: AbortSignal, provider?: string } = {}
): Promise<Buffer> {
  return await bytesOf(await download(url, { signal: new AbortController().signal, maxBytes, ...more }))
}

t.test('downloads a public file without sending credentials', async t => {
  const site = await startSite(t, (_request, response) => response.end(png))
  t.same(await fetchWith(downloaderFor(t), `https://cdn.example:${site.port}/a.png?sig=1`), png)
  const { url, method, headers } = site.requests[0] ?? {}
  t.same({ url, method }, { url: '/a.png?sig=1', method: 'GET' })
  t.same(Object.keys(headers ?? {}).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
})

t.test('rejects URLs other than HTTPS', async t => {
  const site = await startPlainSite(t, (_request, response) => response.end(png))
  const download = downloaderFor(t)
  const urls = [
    `http://cdn.example:${site.port}/`, `HTTP://127.0.0.1:${site.port}/`, 'file:///etc/passwd', 'file://localhost/etc/passwd',
    'ftp://cdn.example/a', 'data:image/png;base64,AAAA', 'javascript:alert(1)', 'blob:https://cdn.example/1', 'gopher://cdn.example/',
    '//cdn.example/a', '/etc/passwd', '', 'https://', 'https://u:p@cdn.example/', 'https://u@cdn.example/'
  ]
  for (const url of urls) await t.rejects(fetchWith(download, url), { name: 'UpstreamError', kind: 'bad_reply' }, url)
  t.equal(site.connections(), 0)
})

t.test('rejects private addresses in any notation', async t => {
  const site = await startPlainSite(t, (_request, response) => response.end(png))
  const download = downloaderFor(t, { network: {} })
  const hosts = [
    '127.0.0.1', '127.1', '127.0.0.1.', '0x7f000001', '2130706433', '017700000001', '0177.0.0.1', '0', '0.0.0.0', '[::]', '[::1]',
    '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]',
    '[fe80::1]', '[fd00:ec2::254]', '169.254.169.254', '100.100.100.200', '168.63.129.16', '10.0.0.1', '192.168.0.1', '172.16.0.1',
    '１２７.０.０.１', 'localhost', 'localhost.', 'LOCALHOST', 'x.localhost'
  ]
  for (const host of hosts) {
    const url = `https://${host}:${site.port}/`
    await t.rejects(fetchWith(download, url), { name: 'UpstreamError', kind: /bad_reply|network/ }, url)
  }
  t.equal(site.connections(), 0)
})

t.test('rejects a name that resolves to a private address, alone or among others', async t => {
  const site = await startSite(t, (_request, response) => response.end(png))
  const network = internetOf({
    'private.example': ['10.0.0.1'],
    'metadata.example': ['169.254.169.254'],
    'mixed.example': ['127.0.0.1', '192.168.1.1'],
    'six.example': ['::1'],
    'mapped.example': ['::ffff:10.0.0.1'],
    'translated.example': ['64:ff9b::a9fe:a9fe'],
    'nothing.example': []
  })
  const download = downloaderFor(t, { network })
  for (const name of ['private', 'metadata', 'mixed', 'six', 'mapped', 'translated', 'nothing']) {
    const failed = { name: 'UpstreamError', kind: 'bad_reply', message: 'The file URL does not lead to a public address.' }
    await t.rejects(fetchWith(download, `https://${name}.example:${site.port}/`), failed, name)
  }
  await t.rejects(fetchWith(download, 'https://unknown.example/'), { name: 'UpstreamError', kind: 'network' })
  t.equal(site.connections(), 0)
})

t.test('connects to the address it has checked, despite DNS rebinding', async t => {
  const site = await startSite(t, (_request, response) => response.end(png))
  const answers = [['127.0.0.1'], ['10.0.0.1']]
  const changing = Object.defineProperty({}, 'rebind.example', { get: () => answers.shift() })
  const network = internetOf(changing)
  const download = downloaderFor(t, { network })
  t.same(await fetchWith(download, `https://rebind.example:${site.port}/`), png)
  t.same(network.lookedUp, ['rebind.example'])
})

t.test('checks every redirect like the first URL', async t => {
  const targets: Record<string, string> = {
    loopback: 'https://127.0.0.2/',
    six: 'https://[::1]/',
    private: 'https://private.example/',
    metadata: 'https://169.254.169.254/latest/',
    plain: 'http://cdn.example/',
    file: 'file:///etc/passwd',
    user: 'https://u:p@cdn.example/',
    nonsense: 'https://',
    loop: '/loop'
  }
  const site = await startSite(t, ({ url = '' }, response) => {
    response.writeHead(302, { location: targets[url.slice(1)], 'set-cookie': 'a=1' }).end('moved')
  })
  const download = downloaderFor(t, { network: internetOf({ ...names, 'private.example': ['10.0.0.1'] }) })
  for (const path of Object.keys(targets)) {
    const url = `https://cdn.example:${site.port}/${path}`
    await t.rejects(fetchWith(download, url), { name: 'UpstreamError', kind: 'bad_reply' }, path)
  }
  t.equal(site.requests.length, Object.keys(targets).length + 5)
  t.notOk(site.requests.some(({ headers }) => 'cookie' in headers || 'authorization' in headers))
})

t.test('follows redirects between public sites', async t => {
  const site = await startSite(t, ({ url = '', headers: { host = '' } }, response) => {
    if (url === '/final') return response.end(png)
    const location = url === '/relative' ? '/final' : `https://${host.replace('cdn', 'other')}/relative`
    response.writeHead(url === '/relative' ? 308 : 301, { location }).end()
  })
  t.same(await fetchWith(downloaderFor(t), `https://cdn.example:${site.port}/absolute`), png)
  t.match(site.requests.map(({ headers }) => headers.host?.split(':')[0]), ['cdn.example', 'other.example', 'other.example'])
})

t.test('trusts the private origin of a provider for its own URLs only', async t => {
  const inner = await startPlainSite(t, (_request, response) => response.end('the secrets of the house'))
  const own = await startPlainSite(t, ({ url }, response) => {
    if (url !== '/leave') return response.end(png)
    response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end()
  })
  const site = await startSite(t, (_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${own.port}/` }).end()
  })
  const origin = `http://127.0.0.1:${own.port}`
  const download = downloaderFor(t, { trusted: { mine: [origin], other: ['https://cdn.example'] } })
  t.same(await fetchWith(download, `${origin}/a.png`, { provider: 'mine' }), png)
  const refused = { name: 'UpstreamError', kind: 'bad_reply' }
  await t.rejects(fetchWith(download, `${origin}/a.png`), refused, 'named by a client')
  await t.rejects(fetchWith(download, `${origin}/a.png`, { provider: 'other' }), refused, 'named by another provider')
  await t.rejects(fetchWith(download, `${origin}/leave`, { provider: 'mine' }), refused, 'leads on into the house')
  await t.rejects(fetchWith(download, `https://cdn.example:${site.port}/`, { provider: 'mine' }), refused, 'leads back in')
  t.equal(inner.connections(), 0)
  t.equal(own.requests.length, 2)
})

t.test('rejects every status other than 200', async t => {
  const site = await startSite(t, ({ url = '' }, response) => {
    const status = Number(url.slice(1))
    response.writeHead(status, status === 302 ? {} : { 'content-type': 'image/png' }).end(status === 204 ? '' : png)
  })
  const cases = { 204: 'bad_reply', 302: 'bad_reply', 403: 'bad_reply', 404: 'bad_reply', 429: 'overloaded', 500: 'overloaded', 503: 'overloaded' }
  const download = downloaderFor(t)
  for (const [status, kind] of Object.entries(cases)) {
    const failed = { name: 'UpstreamError', kind, sent: 'yes', details: { status: Number(status) } }
    await t.rejects(fetchWith(download, `https://cdn.example:${site.port}/${status}`), failed, status)
  }
})

t.test('never stores HTML that is labelled as an image', async t => {
  const site = await startSite(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).end('<!doctype html><title>Expired</title>'.repeat(9))
  })
  const { media, files } = await createWorld(t)
  const body = await downloaderFor(t)(`https://cdn.example:${site.port}/`, { signal: new AbortController().signal, maxBytes })
  await t.rejects(media.put(body, { kind: 'image', account: 'a' }), { name: 'MediaRejected', reason: 'wrong_type' })
  t.same(await files(), [])
})

t.test('enforces the size limit, with and without a content length', async t => {
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/declared') return response.writeHead(200, { 'content-length': maxBytes + 1 }).flushHeaders()
    if (url === '/packed') return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1e6)))
    const write = () => { while (response.write(Buffer.alloc(1000))); }
    response.on('drain', write)
    write()
  })
  const download = downloaderFor(t)
  for (const path of ['declared', 'endless']) {
    const failed = { name: 'UpstreamError', kind: 'too_large', message: 'The file is larger than 10000 bytes.' }
    await t.rejects(fetchWith(download, `https://cdn.example:${site.port}/${path}`), failed, path)
  }
  await t.rejects(fetchWith(download, `https://cdn.example:${site.port}/packed`), { name: 'UpstreamError', kind: 'bad_reply' })
})

t.test('enforces the timeouts on silent and on slow servers', async t => {
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/headless') return
    response.write('x')
    if (url === '/silent') return
    const timer = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(timer))
  })
  const limits = { idleMs: 300, totalMs: 10_000 }
  const timeout = { name: 'UpstreamError', kind: 'timeout' }
  const download = downloaderFor(t, { limits })
  for (const path of ['headless', 'silent']) {
    await t.rejects(fetchWith(download, `https://cdn.example:${site.port}/${path}`), timeout, path)
  }
  const short = downloaderFor(t, { limits: { ...limits, totalMs: 500 } })
  await t.rejects(fetchWith(short, `https://cdn.example:${site.port}/trickling`), timeout)
})

t.test('throws if the body is truncated', async t => {
  const site = await startSite(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('x', () => response.destroy())
  })
  const failed = { name: 'UpstreamError', kind: 'network' }
  await t.rejects(fetchWith(downloaderFor(t), `https://cdn.example:${site.port}/`), failed)
})

t.test('rejects a certificate of another host', async t => {
  const site = await startSite(t, (_request, response) => response.end(png))
  const network = internetOf({ 'cdn.elsewhere': ['127.0.0.1'] })
  const failed = { name: 'UpstreamError', kind: 'network' }
  await t.rejects(fetchWith(downloaderFor(t, { network }), `https://cdn.elsewhere:${site.port}/`), failed)
  t.equal(site.requests.length, 0)
})

t.test('stops at once when aborted, before and within the body', async t => {
  const closed: Promise<unknown>[] = []
  const site = await startSite(t, ({ url }, response) => {
    closed.push(once(response, 'close'))
    if (url === '/body') response.write(png)
  })
  const download = downloaderFor(t)
  const before = new AbortController()
  const waiting = fetchWith(download, `https://cdn.example:${site.port}/head`, { signal: before.signal })
  setTimeout(() => before.abort(), 50)
  await t.rejects(waiting, { name: 'UpstreamError', kind: 'aborted' })

  const within = new AbortController()
  const body = await download(`https://cdn.example:${site.port}/body`, { signal: within.signal, maxBytes })
  const reading = bytesOf(body)
  within.abort()
  await t.rejects(reading, { name: 'UpstreamError', kind: 'aborted' })

  const { signal } = new AbortController()
  const left = await download(`https://cdn.example:${site.port}/body`, { signal, maxBytes })
  const chunks = left[Symbol.asyncIterator]()
  t.match(await chunks.next(), { done: false })
  await chunks.return?.()
  await Promise.all(closed)
  t.pass('every answer was closed')
})
