import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { idInKey } from './blobs.ts'
import type { Blobs } from './blobs.ts'
import { MediaGone, MediaUnavailable } from './errors.ts'
import { onDisk } from './spool.ts'

const spools = 'incoming'

/**
 * Keeps media in a folder, which is made when it is needed first. Several nodes can share one that all of
 * them see.
 */
export function createDiskBlobs (folder: string): Blobs {
  const root = resolve(folder)
  const spoolRoot = join(root, spools)
  return {
    shared: false,

    async spoolFolder () {
      await onDisk(makeFolder(spoolRoot))
      return spoolRoot
    },

    async keep (key, { path }) {
      const target = join(root, key)
      await onDisk(makeFolder(dirname(target)))
      await onDisk(rename(path, target))
      await onDisk(syncFolder(dirname(target)))
    },

    async read (key, range = { start: 0, end: Infinity }) {
      try {
        const file = await open(join(root, key))
        return file.createReadStream({ ...range, highWaterMark: 256 * 1024 })
      } catch (error) {
        throw isAbsent(error) ? new MediaGone(key, error) : new MediaUnavailable(error)
      }
    },

    async remove (keys) {
      for (const key of keys) await onDisk(rm(join(root, key), { force: true }))
    },

    async * writtenBefore (timeMs) {
      for (const name of await namesIn(root)) {
        if (!/^[0-9a-f]{2}$/.test(name)) continue
        const keys = (await namesIn(join(root, name))).map(file => `${name}/${file}`)
        yield await olderOnes(root, keys.filter(key => idInKey(key) !== null), timeMs)
      }
    },

    async forgetSpools (olderThanMs) {
      for (const name of await olderOnes(spoolRoot, await namesIn(spoolRoot), olderThanMs)) {
        await onDisk(rm(join(spoolRoot, name), { force: true }))
      }
    },

    close: async () => {}
  }
}

/** Makes a folder, and makes sure that it is still there after a crash. */
async function makeFolder (path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

async function syncFolder (path: string): Promise<void> {
  // Windows neither can nor needs to.
  if (process.platform === 'win32') return
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function namesIn (folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isAbsent(error)) return []
    throw new MediaUnavailable(error)
  }
}

async function olderOnes (folder: string, names: readonly string[], timeMs: number): Promise<string[]> {
  const older: string[] = []
  for (const name of names) {
    // Another node may just have removed it.
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: Infinity }))
    if (mtimeMs < timeMs) older.push(name)
  }
  return older
}

function isAbsent (error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
