import t from 'tap'
import { buildGateway, startGateway } from '../../helpers/gateway.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { temporaryFolder } from '../../helpers/process.ts'
import { credentials, startS3 } from '../../services/media/s3-server.ts'
import { mp4Of, pngOf } from '../../services/media/samples.ts'

const image = { kind: 'image', account: 'default' } as const
const base = 'http://gw/v1'
const pathOf = (url: string) => url.slice('http://gw'.length)

t.test('accepts URLs signed by another node or before a restart', async t => {
  const { url: DATABASE_URL } = await createDatabase(t, 'sqlite')
  const env = { DATABASE_URL, TOLLGATE_MEDIA: await temporaryFolder(t) }
  const one = await buildGateway(t, { env })
  const other = await buildGateway(t, { env })
  const stored = await one.app.media.put(pngOf(4, 4), image)
  const url = pathOf(one.app.media.url(stored, base))
  t.equal((await other.app.inject({ url })).statusCode, 200)
  await Promise.all([one.app.close(), other.app.close()])
  const again = await buildGateway(t, { env })
  t.same((await again.app.inject({ url })).rawPayload, pngOf(4, 4))
})

t.test('signs with the configured key, and accepts the previous key until it is removed', async t => {
  const { url: DATABASE_URL } = await createDatabase(t, 'sqlite')
  const env = { DATABASE_URL, TOLLGATE_MEDIA: await temporaryFolder(t) }
  const first = { TOLLGATE_MEDIA_KEY: 'the-first-signing-key' }
  const second = { TOLLGATE_MEDIA_KEY: 'the-second-signing-key' }
  const before = await buildGateway(t, { env: { ...env, ...first } })
  const stored = await before.app.media.put(pngOf(4, 4), image)
  const url = pathOf(before.app.media.url(stored, base))
  const TOLLGATE_MEDIA_KEY_PREVIOUS = first.TOLLGATE_MEDIA_KEY
  const during = await buildGateway(t, { env: { ...env, ...second, TOLLGATE_MEDIA_KEY_PREVIOUS } })
  const after = await buildGateway(t, { env: { ...env, ...second } })
  const renewed = pathOf(during.app.media.url(stored, base))
  t.equal((await during.app.inject({ url })).statusCode, 200)
  t.equal((await after.app.inject({ url })).statusCode, 403)
  t.equal((await before.app.inject({ url: renewed })).statusCode, 403)
  t.equal((await after.app.inject({ url: renewed })).statusCode, 200)
})

t.test('keeps media for the configured time', async t => {
  const { app } = await buildGateway(t, { env: { TOLLGATE_MEDIA_DAYS: '0.25' } })
  const { createdAt, expiresAt } = await app.media.put(pngOf(1, 1), image)
  t.equal(expiresAt - createdAt, 6 * 3_600_000)
})

t.test('serves from a bucket as from a folder, in ranges, over a socket', async t => {
  const { endpoint } = await startS3(t)
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey
  })
  t.teardown(() => {
    delete process.env['AWS_ACCESS_KEY_ID']
    delete process.env['AWS_SECRET_ACCESS_KEY']
  })
  const env = { TOLLGATE_MEDIA: `s3://media/of/tollgate?endpoint=${endpoint}` }
  const { app, url: api } = await startGateway(t, { env })
  const video = mp4Of(3 * 1024 * 1024)
  const stored = await app.media.put(video, { kind: 'video', account: 'default' })
  const url = app.media.url(stored, api)
  const whole = await fetch(url)
  t.equal(whole.headers.get('content-type'), 'video/mp4')
  t.ok(Buffer.from(await whole.arrayBuffer()).equals(video))
  const part = await fetch(url, { headers: { range: 'bytes=100-199' } })
  t.equal(part.status, 206)
  t.same(Buffer.from(await part.arrayBuffer()), video.subarray(100, 200))
  t.equal((await fetch(url, { method: 'HEAD' })).headers.get('content-length'), String(video.length))
})

t.test('answers 503 if the store is unavailable', async t => {
  const env = { TOLLGATE_MEDIA: 's3://media?endpoint=http://127.0.0.1:9' }
  const { app } = await buildGateway(t, { env })
  const row = { id: 'a'.repeat(32), mime: 'image/png', extension: 'png', bytes: 1, width: 1, height: 1, createdAt: 0 }
  const stored = { ...row, expiresAt: Date.now() + 60_000 }
  await app.store.run(`insert into media (id, account, mime, extension, bytes, sha256, created_at, expires_at)
    values ($1, 'default', 'image/png', 'png', 1, 'x', 0, $2)`, [stored.id, stored.expiresAt])
  const answer = await app.inject({ url: pathOf(app.media.url(stored, base)) })
  t.equal(answer.statusCode, 503)
  t.match(answer.json().error, { type: 'service_unavailable_error' })
})
