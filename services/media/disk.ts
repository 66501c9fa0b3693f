import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { idOfBlobKey, type BlobStore } from './blob-store.ts'
import { BlobMissing, MediaUnavailable, asMediaUnavailable, openWithin, silenceMs } from './errors.ts'
import { readWithin } from './read-within.ts'

const tempFolderName = 'incoming'

/**
 * Stores blobs in a folder, created on first use. Several nodes can share a network folder. No operation
 * waits longer than `limitMs` for the disk.
 */
export function createDiskBlobStore (folder: string, limitMs = silenceMs): BlobStore {
  const root = resolve(folder)
  const tempRoot = join(root, tempFolderName)
  const closing = new AbortController()

  async function bounded<Result> (work: Promise<Result>, signal = closing.signal): Promise<Result> {
    return await asMediaUnavailable(work, { limitMs, signal })
  }

  return {
    shared: false,

    async tempFolder () {
      await bounded(createFolder(tempRoot))
      return tempRoot
    },

    async put (key, { path }, signal) {
      const target = join(root, key)
      const ends = signal && AbortSignal.any([signal, closing.signal])
      await bounded(createFolder(dirname(target)), ends)
      await bounded(moveFile(path, target), ends)
      await bounded(syncFolder(dirname(target)), ends)
    },

    async read (key, range = { start: 0, end: Infinity }) {
      try {
        const file = await openWithin(open(join(root, key)), { limitMs, signal: closing.signal })
        return readWithin(file.createReadStream({ ...range, highWaterMark: 256 * 1024 }), limitMs)
      } catch (error) {
        const isMissing = error instanceof MediaUnavailable && isNotFound(error.cause)
        throw isMissing ? new BlobMissing(key, error.cause) : error
      }
    },

    async delete (keys) {
      for (const key of keys) await bounded(rm(join(root, key), { force: true }))
    },

    async * listOlderThan (timeMs) {
      for (const name of await bounded(namesIn(root))) {
        if (!/^[0-9a-f]{2}$/.test(name)) continue
        const keys = (await bounded(namesIn(join(root, name)))).map(file => `${name}/${file}`)
        yield await bounded(olderThan(root, keys.filter(key => idOfBlobKey(key) !== null), timeMs))
      }
    },

    async deleteStaleTempFiles (olderThanMs) {
      for (const name of await bounded(olderThan(tempRoot, await bounded(namesIn(tempRoot)), olderThanMs))) {
        await bounded(rm(join(tempRoot, name), { force: true }))
      }
    },

    close: async () => closing.abort(new Error('The media store is closed.'))
  }
}

/** Creates a folder and syncs its parents, so that it survives a crash. */
async function createFolder (path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let created = path; created.length >= first.length; created = dirname(created)) {
    await syncFolder(dirname(created))
  }
}

/** Moves a file; one that a former call has moved is left where it is. */
async function moveFile (from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!isNotFound(error)) throw error
    await stat(to)
  }
}

async function syncFolder (path: string): Promise<void> {
  // Windows cannot open folders.
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
    if (isNotFound(error)) return []
    throw error
  }
}

async function olderThan (folder: string, names: readonly string[], timeMs: number): Promise<string[]> {
  const older: string[] = []
  for (const name of names) {
    // Another node may have deleted it in the meantime.
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: Infinity }))
    if (mtimeMs < timeMs) older.push(name)
  }
  return older
}

function isNotFound (error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
