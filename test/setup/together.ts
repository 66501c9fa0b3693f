import { existsSync, globSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
/** Timeout of one test; tap's own limit is for a whole process. */
const limitMs = Number(process.env['TAP_TIMEOUT'] ?? 120) * 1000

/**
 * Runs the tests of a folder and its subfolders in this process, one after another: a process per file would
 * spend most of its time on starting. Subfolders with their own `all.ts` are left out.
 */
export function runTogether (folder: string): void {
  t.on('subtestStart', () => t.setTimeout(limitMs))
  const loaded = Promise.withResolvers<void>()
  // The tests that the files declare wait until this one has ended.
  t.test('all files load', async () => { await loaded.promise })
  load(folder).then(loaded.resolve, loaded.reject)
}

async function load (folder: string): Promise<void> {
  for (const path of testsOf(folder)) {
    t.comment(relative(root, path))
    await import(path)
  }
}

function testsOf (folder: string): string[] {
  const paths = globSync('**/*.test.ts', { cwd: folder }).map(path => join(folder, path))
  return paths.filter(path => nearest(dirname(path)) === folder).sort()
}

/** The folder whose `all.ts` runs the tests of this one. */
function nearest (folder: string): string {
  return existsSync(join(folder, 'all.ts')) ? folder : nearest(dirname(folder))
}
