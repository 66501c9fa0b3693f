import { existsSync, globSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { laneOf } from './lanes.ts'

const root = join(import.meta.dirname, '..', '..')
const tests = join(root, 'test')
/** Timeout of one test; tap's own limit is for a whole process. */
const limitMs = Number(process.env['TAP_TIMEOUT'] ?? 120) * 1000

/**
 * Runs the tests of a folder and its subfolders in this process, one after another: a process per file would
 * spend most of its time on starting. Subfolders with their own `all.ts` are left out.
 */
export function runTogether (folder: string): void {
  run(testsBelow(folder).filter(path => nearest(dirname(path)) === folder))
}

/** Runs in this process, one after another, the tests that `npm test` gives to one of its processes. */
export function runLane (lane: number): void {
  run(testsOfLane(lane))
}

/** The absolute paths of the test files that a lane runs. */
export function testsOfLane (lane: number): string[] {
  return testsBelow(tests).filter(path => {
    const folder = relative(tests, nearest(dirname(path))) || '.'
    return laneOf(folder) === lane
  })
}

function run (paths: readonly string[]): void {
  t.on('subtestStart', () => t.setTimeout(limitMs))
  const loaded = Promise.withResolvers<void>()
  // The tests that the files declare wait until this one has ended.
  t.test('all files load', async () => { await loaded.promise })
  load(paths).then(loaded.resolve, loaded.reject)
}

async function load (paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    t.comment(relative(root, path))
    await import(path)
  }
}

function testsBelow (folder: string): string[] {
  return globSync('**/*.test.ts', { cwd: folder }).map(path => join(folder, path)).sort()
}

/** The folder whose `all.ts` runs the tests of this one. */
function nearest (folder: string): string {
  return existsSync(join(folder, 'all.ts')) ? folder : nearest(dirname(folder))
}
