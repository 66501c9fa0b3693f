import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import t from 'tap'
import type { Test } from 'tap'
import { BlobMissing, MediaUnavailable } from '../../../services/media/errors.ts'
import { createS3BlobStore } from '../../../services/media/s3.ts'
import { createUrlSigner } from '../../../services/media/url-signer.ts'
import { createMediaStore } from '../../../services/media/store.ts'
import { deleteExpiredMedia, deleteOrphanBlobs } from '../../../services/media/garbage-collection.ts'
import { openStore } from '../../../services/store/open.ts'
import { bytesOf, hourMs } from './helper.ts'
import { credentials, startS3 } from './s3-server.ts'
import { inPieces, mp4Of, pngOf } from './samples.ts'
import type { S3Location } from '../../../services/media/blob-store.ts'

const image = { kind: 'image', account: 'a' } as const

async function createS3World (t: Test, place: Partial<S3Location> & { endpoint: string }) {
  const store = await openStore('sqlite::memory:')
  const blobs = createS3BlobStore({ bucket: 'media', prefix: 'made/', region: null, credentials, ...place })
  t.teardown(async () => {
    await blobs.close()
    await store.close()
  })
  const now = { ms: Date.now() }
  const clock = () => now.ms
  const signer = createUrlSigner(['a key for tests only'])
  const media = createMediaStore({ store, blobs, signer, retentionMs: hourMs, clock })
  return { store, blobs, media, now, clock, onError: (error: unknown) => { throw error } }
}

t.test('returns a stored file, whole or in part', async t => {
  const { endpoint } = await startS3(t)
  const { media, blobs } = await createS3World(t, { endpoint })
  const png = pngOf(30, 20)
  const stored = await media.put(inPieces(png, 100), image)
  t.match(stored, { mime: 'image/png', bytes: png.length, width: 30 })
  t.same(await bytesOf(await media.read(stored)), png)
  t.same(await bytesOf(await media.read(stored, { start: 1, end: 3 })), Buffer.from('PNG'))

  const video = mp4Of(6 * 1024 * 1024)
  const film = await media.put(inPieces(video, 65_536), { kind: 'video', account: 'a' })
  t.ok((await bytesOf(await media.read(film))).equals(video))
  const part = await bytesOf(await media.read(film, { start: 5_000_000, end: 5_000_009 }))
  t.same(part, video.subarray(5_000_000, 5_000_010))
  const folder = await blobs.tempFolder()
  t.ok(existsSync(folder))
  await blobs.close()
  t.notOk(existsSync(folder))
})

t.test('deletes expired files and orphans, and nothing outside of its prefix', async t => {
  const { endpoint } = await startS3(t, true)
  const world = await createS3World(t, { endpoint })
  const { media, store, now } = world
  const other = await createS3World(t, { endpoint, prefix: '' })
  const foreign = await other.media.put(pngOf(3, 3), image)
  const kept = await media.put(pngOf(1, 1), { ...image, retentionMs: 100 * hourMs })
  const expired = await media.put(pngOf(1, 1), image)
  const orphan = await media.put(pngOf(1, 1), { ...image, retentionMs: 100 * hourMs })
  await store.run('delete from media where id = $1', [orphan.id])
  t.equal(await deleteOrphanBlobs(world), 0)
  now.ms += 3 * hourMs
  t.equal(await deleteExpiredMedia(world), 1)
  await store.run('delete from chore')
  t.equal(await deleteOrphanBlobs(world), 1)
  for (const gone of [expired, orphan]) await t.rejects(media.read(gone), BlobMissing)
  for (const [from, there] of [[media, kept], [other.media, foreign]] as const) {
    t.equal((await bytesOf(await from.read(there))).length, there.bytes)
  }
})

t.test('throws MediaUnavailable if the store rejects or is unreachable, and leaves no file', async t => {
  const { endpoint } = await startS3(t)
  const worlds = [
    await createS3World(t, { endpoint, bucket: 'another' }),
    await createS3World(t, { endpoint: 'http://127.0.0.1:9' })
  ]
  for (const { media, store } of worlds) {
    await t.rejects(media.put(pngOf(1, 1), image), MediaUnavailable)
    t.same(await store.all('select id from media'), [])
  }
  const blobs = createS3BlobStore({
    bucket: 'media', prefix: '', endpoint, region: null, credentials: { ...credentials, secretAccessKey: 'wrong' }
  })
  t.teardown(() => blobs.close())
  await t.rejects(blobs.read('00/x'), MediaUnavailable, 'a wrong secret')
  await t.rejects(blobs.delete(['00/x']), MediaUnavailable)
  await t.rejects(Array.fromAsync(blobs.listOlderThan(0)), MediaUnavailable)
})

t.test('retries a broken upload from its beginning', async t => {
  const { endpoint, port } = await startS3(t)
  const flaky = await startFlakyProxy(t, port, 1)
  const { media } = await createS3World(t, { endpoint: flaky.url })
  const stored = await media.put(pngOf(200, 200), image)
  t.ok(flaky.connections() >= 2)
  const direct = await createS3World(t, { endpoint })
  t.same(await bytesOf(await direct.media.read(stored)), pngOf(200, 200))
})

t.test('frees the connection of an abandoned read', async t => {
  const { port } = await startS3(t)
  const proxy = await startFlakyProxy(t, port, 0)
  const { media } = await createS3World(t, { endpoint: proxy.url })
  const stored = await media.put(mp4Of(32 * 1024 * 1024), { kind: 'video', account: 'a' })
  const body = Readable.from(await media.read(stored))
  await once(body, 'readable')
  const closed = proxy.nextClosed()
  body.destroy()
  await closed
  t.pass('the connection was closed')
})

/** Passes connections on, but breaks the first ones after their first bytes. */
async function startFlakyProxy (t: Test, port: number, broken: number) {
  let connections = 0
  const server = createServer(socket => {
    connections += 1
    const upstream = connect(port, '127.0.0.1')
    const isBroken = connections <= broken
    if (isBroken) socket.once('data', () => socket.resetAndDestroy())
    else socket.pipe(upstream).pipe(socket)
    for (const end of [socket, upstream]) end.on('error', () => {})
    socket.on('close', () => {
      upstream.destroy()
      server.emit('connection closed')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const url = typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : ''
  return { url, connections: () => connections, nextClosed: () => once(server, 'connection closed') }
}

t.test('closes without its temporary folder', async t => {
  const { endpoint } = await startS3(t)
  const { blobs } = await createS3World(t, { endpoint })
  await rm(await blobs.tempFolder(), { recursive: true })
  await blobs.close()
  t.pass('closed')
})
