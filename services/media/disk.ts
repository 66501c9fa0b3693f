import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { idOfBlobKey, type BlobStore } from './blob-store.ts'
import { BlobMissing, MediaUnavailable, asMediaUnavailable } from './errors.ts'
const tempFolderName = 'incoming'

/** Stores blobs in a folder, created on first use. Several nodes can share a network folder. */
export function createDiskBlobStore (folder: string): BlobStore {
  const root = resolve(folder)
  const tempRoot = join(root, tempFolderName)
  return {
    shared: false,

    async tempFolder () {
      await asMediaUnavailable(createFolder(tempRoot))
      return tempRoot
    },

    async put (key, { path }) {
      const target = join(root, key)
      await asMediaUnavailable(createFolder(dirname(target)))
      await asMediaUnavailable(rename(path, target))
      await asMediaUnavailable(syncFolder(dirname(target)))
    },

    async read (key, range = { start: 0, end: Infinity }) {
      try {
        const file = await open(join(root, key))
        return file.createReadStream({ ...range, highWaterMark: 256 * 1024 })
      } catch (error) {
        throw isNotFound(error) ? new BlobMissing(key, error) : new MediaUnavailable(error)
      }
    },

    async delete (keys) {
      for (const key of keys) await asMediaUnavailable(rm(join(root, key), { force: true }))
    },

    async * listOlderThan (timeMs) {
      for (const name of await namesIn(root)) {
        if (!/^[0-9a-f]{2}$/.test(name)) continue
        const keys = (await namesIn(join(root, name))).map(file => `${name}/${file}`)
        yield await olderThan(root, keys.filter(key => idOfBlobKey(key) !== null), timeMs)
      }
    },

    async deleteStaleTempFiles (olderThanMs) {
      for (const name of await olderThan(tempRoot, await namesIn(tempRoot), olderThanMs)) {
        await asMediaUnavailable(rm(join(tempRoot, name), { force: true }))
      }
    },

    close: async () => {}
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
    throw new MediaUnavailable(error)
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
