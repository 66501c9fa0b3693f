import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { createDiskBlobStore } from '../../services/media/disk.ts'
import { openStore } from '../../services/store/open.ts'
import { deleteOrphanBlobs, collectionLimits } from '../../services/media/garbage-collection.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { filesIn } from '../services/media/helper.ts'

const program = join(import.meta.dirname, 'media-putter.ts')
const rounds = 4

t.test('a process that is killed during a store leaves no partial file visible', async t => {
  const folder = await temporaryFolder(t)
  const database = `sqlite:${join(folder, 'tollgate.db')}`
  const root = join(folder, 'media')
  const confirmed = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const child = spawn(process.execPath, [program, database, root], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })
    lines.on('line', id => {
      confirmed.add(id)
      // Kills it in the middle of the next ones.
      if (confirmed.size % 3 === 0) setTimeout(() => child.kill('SIGKILL'), round * 3)
    })
    await once(child, 'close')
  }

  const store = await openStore(database)
  t.teardown(() => store.close())
  const rows = await store.all<{ id: string, sha256: string, bytes: number }>('select id, sha256, bytes from media')
  const ids = new Set(rows.map(({ id }) => id))
  t.ok(confirmed.size >= rounds)
  t.ok([...confirmed].every(id => ids.has(id)), 'what was confirmed is there')
  for (const { id, sha256, bytes } of rows) {
    const content = await readFile(join(root, id.slice(0, 2), `${id}.mp4`))
    t.equal(content.length, bytes)
    t.equal(createHash('sha256').update(content).digest('hex'), sha256, 'and whole')
  }

  const blobs = createDiskBlobStore(root)
  const clock = () => Date.now() + collectionLimits.orphanAgeMs + 1000
  await deleteOrphanBlobs({ store, blobs, clock })
  const left = (await filesIn(root)).map(path => basename(path, '.mp4'))
  t.same(new Set(left), ids, 'all else is cleaned up')
})
