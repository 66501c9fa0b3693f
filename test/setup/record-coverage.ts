import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session, type Profiler } from 'node:inspector'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isProduct } from './coverage.ts'

// Loaded before the tests: counts how often they run each part of the gateway's own files. Node.js itself
// (NODE_V8_COVERAGE) would do so in all threads and child processes, and write it down for all packages too.

const folder = process.env['TOLLGATE_TEST_COVERAGE']
const root = join(import.meta.dirname, '..', '..')

if (folder !== undefined) {
  // Threads and child processes are not measured, so they may take their code from the compile cache.
  delete process.env['NODE_DISABLE_COMPILE_CACHE']
  record(folder)
}

/** Writes the coverage into `folder` when the process ends, in the form of NODE_V8_COVERAGE. */
function record (folder: string): void {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  process.once('exit', () => {
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify({ result: taken.result.filter(isOfProduct) }))
    })
  })
}

function isOfProduct ({ url }: Profiler.ScriptCoverage): boolean {
  return url.startsWith('file:') && isProduct(relative(root, fileURLToPath(url)))
}
