import { EventEmitter, once } from 'node:events'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mock } from 'node:test'
import t from 'tap'
import { createMediaStore } from '../../../services/media/store.ts'
import { createUrlSigner } from '../../../services/media/url-signer.ts'
import {
  collectionLimits, deleteExpiredMedia, deleteOrphanBlobs, startGarbageCollection
} from '../../../services/media/garbage-collection.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { createWorld, filesIn, hourMs } from './helper.ts'
import { pngOf } from './samples.ts'

const image = { kind: 'image', account: 'a' } as const

forEachEngine(t, 'deletes expired media in batches, and nothing else', async (t, database) => {
  const world = await createWorld(t, database.open)
  const { media, store, now, files } = world
  const many = collectionLimits.batch + 20
  const expiring = Array.from({ length: many }, () => media.put(pngOf(1, 1), { ...image, retentionMs: 1000 }))
  await Promise.all(expiring)
  const kept = await media.put(pngOf(2, 2), image)
  t.equal(await deleteExpiredMedia(world), 0)
  now.ms += 1000
  t.equal(await deleteExpiredMedia(world), many)
  t.match(await files(), [new RegExp(`${kept.id}\\.png$`)])
  t.same(await store.all('select id from media'), [{ id: kept.id }])
})

forEachEngine(t, 'several nodes delete each file once', async (t, database) => {
  const world = await createWorld(t, database.open)
  const { media, now, blobs, clock, files } = world
  await Promise.all(Array.from({ length: 60 }, () => media.put(pngOf(1, 1), { ...image, retentionMs: 1000 })))
  now.ms += 1000
  const removed: string[] = []
  const counting = { ...blobs, delete: async (keys: readonly string[]) => { removed.push(...keys) } }
  const stores = await Promise.all([1, 2, 3, 4].map(() => database.open()))
  await Promise.all(stores.map(store => deleteExpiredMedia({ store, blobs: counting, clock })))
  t.equal(removed.length, 60)
  t.equal(new Set(removed).size, 60)
  t.equal((await files()).length, 60)
})

forEachEngine(t, 'deletes old blobs without a row, and no files of other programs', async (t, database) => {
  const world = await createWorld(t, database.open)
  const { media, store, now, folder, files } = world
  const kept = await media.put(pngOf(1, 1), image)
  const orphan = await media.put(pngOf(1, 1), image)
  await store.run('delete from media where id = $1', [orphan.id])
  const foreign = join(folder, orphan.id.slice(0, 2), 'notes.txt')
  const spooled = join(folder, 'incoming', 'f'.repeat(32))
  for (const path of [foreign, join(folder, 'README'), spooled]) await writeFile(path, 'x')
  const all = (await files()).length

  t.equal(await deleteOrphanBlobs(world), 0)
  t.equal((await files()).length, all)
  await age(folder, now.ms - 3 * hourMs)
  t.equal(await deleteOrphanBlobs(world), 1)
  const left = await files()
  t.same(left, left.filter(path => path !== spooled && !path.includes(orphan.id)))
  t.equal(left.length, all - 2)
  t.ok(left.some(path => path.includes(kept.id)))
})

forEachEngine(t, 'only one of the nodes on a shared blob store looks for orphans', async (t, database) => {
  const { now, clock, blobs } = await createWorld(t, database.open)
  let looked = 0
  const shared = { ...blobs, shared: true, async * listOlderThan () { looked += 1 } }
  const stores = await Promise.all([1, 2, 3, 4].map(() => database.open()))
  const sweep = async () => {
    await Promise.all(stores.map(store => deleteOrphanBlobs({ store, blobs: shared, clock })))
  }
  await sweep()
  t.equal(looked, 1)
  await sweep()
  t.equal(looked, 1)
  now.ms += collectionLimits.orphansEveryMs
  await sweep()
  t.equal(looked, 2)
})

t.test('accepts an absent folder and does not create it', async t => {
  const world = await createWorld(t)
  t.equal(await deleteOrphanBlobs(world), 0)
  await t.rejects(readdir(world.folder), { code: 'ENOENT' })
})

t.test('continues after a failure, and stops on request', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const world = await createWorld(t)
  const stored = await world.media.put(pngOf(1, 1), { ...image, retentionMs: 1000 })
  world.now.ms += 1000
  const failures: unknown[] = []
  const failing = new EventEmitter()
  const blobs = { ...world.blobs, delete: async () => { throw new Error('the disk is offline') } }
  const stop = startGarbageCollection({ ...world, blobs }, error => {
    failures.push(error)
    failing.emit('failed')
  })
  for (const count of [1, 2]) {
    const failed = once(failing, 'failed')
    mock.timers.tick(collectionLimits.expiredEveryMs)
    await failed
    t.equal(failures.length, count)
    // The next round is scheduled when the failed one has settled.
    await new Promise(resolve => setImmediate(resolve))
  }
  t.match(failures, [{ message: 'the disk is offline' }, { message: 'the disk is offline' }])
  t.equal(await world.media.get(stored.id), undefined)
  await stop()
  mock.timers.tick(collectionLimits.expiredEveryMs)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(failures.length, 2)
})

async function age (folder: string, timeMs: number): Promise<void> {
  for (const path of await filesIn(folder)) await utimes(path, timeMs / 1000, timeMs / 1000)
}

t.test('inserts the row last, so that a failed upload is never visible', async t => {
  const world = await createWorld(t)
  const { store, blobs, files } = world
  const signer = createUrlSigner(['a key for tests only'])
  const killed = { ...blobs, put: async () => { throw new Error('killed') } }
  const media = createMediaStore({ store, blobs: killed, signer, retentionMs: hourMs })
  await t.rejects(media.put(pngOf(1, 1), image), { message: 'killed' })
  t.same(await store.all('select id from media'), [])
  t.same(await files(), [])
})
