import { open, readdir } from 'node:fs/promises'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { createDiskBlobStore } from '../../../services/media/disk.ts'
import { MediaUnavailable, hungOperations } from '../../../services/media/errors.ts'
import { deleteOrphanBlobs } from '../../../services/media/garbage-collection.ts'
import { createS3BlobStore } from '../../../services/media/s3.ts'
import type { ReceivedMedia, StoredMedia } from '../../../services/media/media.ts'
import { createMediaStore } from '../../../services/media/store.ts'
import { createUrlSigner } from '../../../services/media/url-signer.ts'
import { openStore } from '../../../services/store/open.ts'
import { temporaryFolder } from '../../helpers/process.ts'
import { startFaultyS3, type S3Mood } from './faulty-s3.ts'
import { createWorld, hourMs } from './helper.ts'
import { credentials } from './s3-server.ts'
import { inPieces, mp4Of, pngOf } from './samples.ts'
import { until } from '../../helpers/until.ts'

const video = { kind: 'video', account: 'a' } as const
const limits = { idleMs: 1_000, totalMs: 3_000 }
/** Far above every limit here, for a busy machine, and far below the defaults. */
const boundMs = 8_000
const bytes = mp4Of(12 * 1024 * 1024)

async function createS3World (t: Test, mood: S3Mood, ofUploads: typeof limits = limits) {
  const s3 = await startFaultyS3(t, mood)
  const store = await openStore('sqlite::memory:')
  const blobs = createS3BlobStore({ bucket: 'media', prefix: '', region: null, credentials, limits: ofUploads, endpoint: s3.endpoint })
  t.teardown(async () => {
    await blobs.close()
    await store.close()
  })
  const media = createMediaStore({ store, blobs, signer: createUrlSigner(['a key for tests only']), retentionMs: hourMs })
  return { s3, store, blobs, media }
}

async function msOf (work: Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work
  return performance.now() - startMs
}

/** Tries again where a busy machine takes longer than the limits. */
async function storeAtLast (received: ReceivedMedia): Promise<StoredMedia> {
  for (let tries = 1; ; tries++) {
    try {
      return await received.store()
    } catch (error) {
      if (tries === 5) throw error
    }
  }
}

t.test('an upload that stands still ends long before one that goes on would', async t => {
  for (const mood of ['silent', 'deaf'] as const) {
    const { media } = await createS3World(t, mood, { ...limits, totalMs: 10 * boundMs })
    const received = await media.receive(inPieces(bytes, 65_536), video)
    t.ok(await msOf(t.rejects(received.store(), MediaUnavailable)) < boundMs, mood)
  }
})

for (const mood of ['silent', 'deaf', 'drip', 'drops', 403, 404, 500, 503] as const) {
  t.test(`an upload to a bucket that is ${mood} ends with MediaUnavailable, and is stored later`, async t => {
    const { s3, store, blobs, media } = await createS3World(t, mood)
    const received = await media.receive(inPieces(bytes, 65_536), video)
    t.ok(await msOf(t.rejects(received.store(), MediaUnavailable)) < boundMs)
    t.same(await store.all('select id from media'), [])
    t.equal((await readdir(await blobs.tempFolder())).length, 1, 'what was received is kept')
    s3.mood = 'discards'
    s3.received = 0
    const stored = await storeAtLast(received)
    t.match(stored, { mime: 'video/mp4', bytes: bytes.length })
    t.ok(s3.received >= bytes.length)
    t.match(await store.all('select id from media'), [{ id: stored.id }])
    t.same(await readdir(await blobs.tempFolder()), [])
  })
}

t.test('an upload ends when its signal does, and when the store closes', async t => {
  for (const how of ['signal', 'close'] as const) {
    const { s3, blobs, media } = await createS3World(t, 'silent', { idleMs: 10 * boundMs, totalMs: 10 * boundMs })
    const ending = new AbortController()
    const received = await media.receive(bytes, video)
    const failed = t.rejects(received.store(ending.signal), MediaUnavailable, how)
    await until(() => s3.received >= bytes.length)
    t.ok(await msOf(Promise.all([how === 'signal' ? ending.abort() : blobs.close(), failed])) < boundMs)
    await until(() => s3.open === 0)
    await received.discard()
  }
})

t.test('reads, deletes and lists of a silent bucket end', async t => {
  const { s3, blobs, store } = await createS3World(t, 'deaf')
  t.ok(await msOf(Promise.all([
    t.rejects(blobs.read('00/a.mp4'), MediaUnavailable),
    t.rejects(blobs.delete(['00/a.mp4', '00/b.mp4']), MediaUnavailable),
    t.rejects(Array.fromAsync(blobs.listOlderThan(Date.now())), MediaUnavailable)
  ])) < boundMs)
  const collected = t.rejects(deleteOrphanBlobs({ store, blobs }), MediaUnavailable)
  await blobs.close()
  await collected
  await until(() => s3.open === 0)
})

t.test('a download that stops half way fails; a slow reader has all the time', async t => {
  const { s3, blobs } = await createS3World(t, 'silent')
  const body = await blobs.read('00/a.mp4')
  let read = 0
  const work = async (): Promise<void> => {
    for await (const chunk of body) {
      if (read === 0) await new Promise(resolve => setTimeout(resolve, limits.idleMs * 2))
      read += chunk.length
    }
  }
  t.ok(await msOf(t.rejects(work(), MediaUnavailable)) >= limits.idleMs * 2)
  t.equal(read, 500_000)
  await until(() => s3.open === 0)
  const left = Readable.from(await blobs.read('00/a.mp4'))
  left.destroy()
  await until(() => s3.open === 0)
})

/** Replaces an operation of `node:fs/promises`, as the disk store imports it, while a test runs. */
function replaceOperation (
  t: Test, name: 'rename' | 'rm' | 'open', operation: (...args: Parameters<typeof open>) => Promise<unknown>
): () => void {
  const original = fs[name]
  const set = (work: unknown): void => {
    Object.assign(fs, { [name]: work })
    syncBuiltinESMExports()
  }
  const restore = (): void => set(original)
  set(operation)
  t.teardown(restore)
  return restore
}

/** Fails the writes of all file handles, as a full disk does. */
async function fillDisk (t: Test, name: 'appendFile' | 'sync'): Promise<() => void> {
  const handle = await open(import.meta.filename)
  const prototype = Object.getPrototypeOf(handle)
  await handle.close()
  const original = prototype[name]
  const restore = (): void => { prototype[name] = original }
  prototype[name] = async () => { throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }) }
  t.teardown(restore)
  return restore
}

for (const operation of ['appendFile', 'sync'] as const) {
  t.test(`a full disk (${operation}) is MediaUnavailable and leaves no file`, async t => {
    const { media, files } = await createWorld(t)
    const restore = await fillDisk(t, operation)
    const refused = t.rejects(media.put(inPieces(bytes, 65_536), video), { name: 'MediaUnavailable', cause: { code: 'ENOSPC' } })
    await refused
    restore()
    t.same(await files(), [])
    await media.put(bytes, video)
    t.equal((await files()).length, 1)
  })
}

t.test('a file that cannot be moved stays, and is moved later; one that was moved is not missed', async t => {
  const { media, files, store, blobs } = await createWorld(t)
  const received = await media.receive(bytes, video)
  const restore = replaceOperation(t, 'rename', async () => { throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }) })
  await t.rejects(received.store(), { name: 'MediaUnavailable', cause: { code: 'EIO' } })
  restore()
  const sync = await fillDisk(t, 'sync')
  await t.rejects(received.store(), MediaUnavailable, 'it was moved, but is not durable')
  sync()
  const stored = await received.store()
  t.same(await files(), [join(await blobs.tempFolder(), '..', stored.id.slice(0, 2), `${stored.id}.mp4`)])
  t.match(await store.all('select id from media'), [{ id: stored.id }])
  const again = await received.store()
  t.same(again, stored, 'a repeated store has no effect')
})

t.test('a disk that hangs ends no later than its limit, its signal or the close of the store', async t => {
  const folder = join(await temporaryFolder(t), 'media')
  const store = await openStore('sqlite::memory:')
  t.teardown(() => store.close())
  const blobs = createDiskBlobStore(folder, limits.idleMs)
  const media = createMediaStore({ store, blobs, signer: createUrlSigner(['a key for tests only']), retentionMs: hourMs })
  const receive = async () => await media.receive(pngOf(1, 1), { ...video, kind: 'image' })
  const [received, other, third] = [await receive(), await receive(), await receive()]
  const hang = Promise.withResolvers<never>()
  hang.promise.catch(() => {})
  const restore = replaceOperation(t, 'rename', async () => await hang.promise)
  t.equal(hungOperations(), 0)
  t.ok(await msOf(t.rejects(received.store(), MediaUnavailable)) < boundMs)
  t.equal(hungOperations(), 1, 'the system has not ended it')
  const ending = new AbortController()
  const aborted = t.rejects(other.store(ending.signal), MediaUnavailable)
  const closed = t.rejects(third.store(), MediaUnavailable)
  ending.abort()
  await aborted
  await blobs.close()
  await closed
  hang.reject(new Error('the disk is back'))
  restore()
  await until(() => hungOperations() === 0)
})

t.test('a file that the disk opens too late is closed, and a new one removed', async t => {
  const { media, files } = await createWorld(t)
  const stored = await media.put(pngOf(1, 1), { ...video, kind: 'image' })
  const blobs = createDiskBlobStore(dirname(dirname((await files())[0] ?? '')))
  const key = `${stored.id.slice(0, 2)}/${stored.id}.png`
  const given = { kept: await files() }
  const opened: string[] = []
  const closed: string[] = []
  const disk = Promise.withResolvers<void>()
  const restore = replaceOperation(t, 'open', async (...args) => {
    opened.push(String(args[0]))
    await disk.promise
    const handle = await open(...args)
    const close = handle.close.bind(handle)
    handle.close = async () => {
      await close()
      closed.push(String(args[0]))
    }
    return handle
  })
  const leaving = new AbortController()
  const refused = [
    t.rejects(media.put(pngOf(2, 2), { ...video, kind: 'image', signal: leaving.signal }), MediaUnavailable),
    t.rejects(blobs.read(key), MediaUnavailable)
  ]
  await until(() => opened.length >= 2)
  leaving.abort()
  await blobs.close()
  await Promise.all(refused)
  restore()
  disk.resolve()
  await until(() => closed.length >= 2)
  t.same(closed.toSorted(), opened.toSorted())
  await until(async () => (await files()).length <= given.kept.length)
  t.same(await files(), given.kept)
})
