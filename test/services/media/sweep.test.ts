import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { createMediaStore } from '../../../services/media/store.ts'
import { createSignatures } from '../../../services/media/signatures.ts'
import { startSweeps, sweepExpired, sweepLimits, sweepOrphans } from '../../../services/media/sweep.ts'
import { forEachEngine } from '../../engines.ts'
import { createWorld, filesIn, hourMs, type MediaWorld } from './helper.ts'
import { pngOf } from './samples.ts'

const image = { kind: 'image', account: 'a' } as const
const fail = (error: unknown): never => { throw error }

forEachEngine(t, 'what has expired is removed, in batches, and nothing else', async (t, database) => {
  const world = await createWorld(t, database.open)
  const { media, store, now, files } = world
  const many = sweepLimits.batch + 20
  await Promise.all(Array.from({ length: many }, () => media.put(pngOf(1, 1), { ...image, keepMs: 1000 })))
  const kept = await media.put(pngOf(2, 2), image)
  t.equal(await sweepExpired({ ...world, onError: fail }), 0)
  now.ms += 1000
  t.equal(await sweepExpired({ ...world, onError: fail }), many)
  t.match(await files(), [new RegExp(`${kept.id}\\.png$`)])
  t.same(await store.all('select id from media'), [{ id: kept.id }])
})

forEachEngine(t, 'several nodes remove each file once', async (t, database) => {
  const world = await createWorld(t, database.open)
  const { media, now, blobs, clock, files } = world
  await Promise.all(Array.from({ length: 60 }, () => media.put(pngOf(1, 1), { ...image, keepMs: 1000 })))
  now.ms += 1000
  const removed: string[] = []
  const counting = { ...blobs, remove: async (keys: readonly string[]) => { removed.push(...keys) } }
  const stores = await Promise.all([1, 2, 3, 4].map(() => database.open()))
  await Promise.all(stores.map(store => sweepExpired({ store, blobs: counting, onError: fail, clock })))
  t.equal(removed.length, 60)
  t.equal(new Set(removed).size, 60)
  t.equal((await files()).length, 60)
})

forEachEngine(t, 'bytes without a row are removed once they are old, what is not ours stays', async (t, database) => {
  const world = await createWorld(t, database.open)
  const { media, store, now, folder, files } = world
  const kept = await media.put(pngOf(1, 1), image)
  const orphan = await media.put(pngOf(1, 1), image)
  await store.run('delete from media where id = $1', [orphan.id])
  const foreign = join(folder, orphan.id.slice(0, 2), 'notes.txt')
  const spooled = join(folder, 'incoming', 'f'.repeat(32))
  for (const path of [foreign, join(folder, 'README'), spooled]) await writeFile(path, 'x')
  const all = (await files()).length

  t.equal(await sweepOrphans({ ...world, onError: fail }), 0)
  t.equal((await files()).length, all)
  await age(folder, now.ms - 3 * hourMs)
  t.equal(await sweepOrphans({ ...world, onError: fail }), 1)
  const left = await files()
  t.same(left, left.filter(path => path !== spooled && !path.includes(orphan.id)))
  t.equal(left.length, all - 2)
  t.ok(left.some(path => path.includes(kept.id)))
})

forEachEngine(t, 'of nodes that see the same bytes, one looks for orphans', async (t, database) => {
  const { now, clock, blobs } = await createWorld(t, database.open)
  let looked = 0
  const shared = { ...blobs, shared: true, async * writtenBefore () { looked += 1 } }
  const stores = await Promise.all([1, 2, 3, 4].map(() => database.open()))
  const sweep = async () => {
    await Promise.all(stores.map(store => sweepOrphans({ store, blobs: shared, onError: fail, clock })))
  }
  await sweep()
  t.equal(looked, 1)
  await sweep()
  t.equal(looked, 1)
  now.ms += sweepLimits.orphansEveryMs
  await sweep()
  t.equal(looked, 2)
})

t.test('an empty or absent folder is nothing to complain about, and is not made', async t => {
  const world = await createWorld(t)
  t.equal(await sweepOrphans({ ...world, onError: fail }), 0)
  await t.rejects(readdir(world.folder), { code: 'ENOENT' })
})

t.test('sweeps go on after a failure, and stop when they are told to', async t => {
  const { world, tick, waiting } = await underTimers(t)
  const errors: unknown[] = []
  const stored = await world.media.put(pngOf(1, 1), { ...image, keepMs: 1000 })
  world.now.ms += 1000
  const blobs = { ...world.blobs, remove: async () => { throw new Error('the disk is away') } }
  const stop = startSweeps({ ...world, blobs, onError: error => errors.push(error), timers: world.timers })
  t.equal(waiting(), 2)
  await tick()
  t.match(errors, [{ message: 'the disk is away' }])
  t.equal(waiting(), 2)
  t.equal(await world.media.get(stored.id), undefined)
  await stop()
  t.equal(waiting(), 0)
})

/** Timers that fire, all of them, when the test says so. */
async function underTimers (t: Test) {
  const world: MediaWorld = await createWorld(t)
  const planned = new Set<() => void>()
  const inBackground = (_ms: number, work: () => void) => {
    planned.add(work)
    return () => planned.delete(work)
  }
  async function tick () {
    const due = [...planned]
    planned.clear()
    for (const work of due) work()
    while (planned.size < due.length) await new Promise(resolve => setImmediate(resolve))
  }
  const timers = { after: inBackground, inBackground }
  return { world: { ...world, timers }, tick, waiting: () => planned.size }
}

async function age (folder: string, timeMs: number): Promise<void> {
  for (const path of await filesIn(folder)) await utimes(path, timeMs / 1000, timeMs / 1000)
}

t.test('a row is the last thing made, so a failure shows no half file', async t => {
  const world = await createWorld(t)
  const { store, blobs, files } = world
  const signatures = createSignatures(['a key for tests only'])
  const killed = { ...blobs, keep: async () => { throw new Error('killed') } }
  const media = createMediaStore({ store, blobs: killed, signatures, keepMs: hourMs })
  await t.rejects(media.put(pngOf(1, 1), image), { message: 'killed' })
  t.same(await store.all('select id from media'), [])
  t.same(await files(), [])
})
