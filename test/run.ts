import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { awaitPython, preparePython } from './helpers/python.ts'
import { coverageReport, type CoverageSummary, type Floor } from './setup/coverage.ts'

// `npm test`: runs all tests, and installs OpenAI's SDK for Python meanwhile; with files as arguments it runs
// only those. With `--coverage` each process of tests records its own (test/setup/record-coverage.ts), and
// tap merges it. That takes a quarter more processor time, so only `.ci/run` does so each time.

const root = join(import.meta.dirname, '..')
const coverageFolder = join(root, '.tap', 'coverage')
const summaryFile = join(root, '.tap', 'report', 'coverage-summary.json')
const compiled = join(root, 'node_modules', '.cache', 'compiled')
const args = process.argv.slice(2).filter(arg => arg !== '--coverage')
const isWhole = args.every(arg => arg.startsWith('-'))
const isMeasured = process.argv.includes('--coverage')
process.exitCode = !isWhole ? await runTap({}) : isMeasured ? await measureAll() : await runAll()

/** Resolves with the exit code: 1 if a test fails. */
async function runAll (env: Record<string, string> = {}, ...options: string[]): Promise<number> {
  const [, code] = await Promise.all([preparePython(), runTap({ ...awaitPython, ...env }, ...options)])
  return code
}

/** The same; 1 also if the coverage is below its floor. */
async function measureAll (): Promise<number> {
  rmSync(summaryFile, { force: true })
  // What an interrupted run has left would count, too.
  rmSync(coverageFolder, { recursive: true, force: true })
  // Code from the compile cache has no counters.
  const env = { TOLLGATE_TEST_COVERAGE: coverageFolder, NODE_DISABLE_COMPILE_CACHE: '1' }
  // The floors apply to the gateway's own files; tap's would apply to all files.
  const noFloors = ['lines', 'branches', 'functions', 'statements'].map(kind => `--${kind}=0`)
  const code = await runAll(env, '--coverage-report=json-summary', ...noFloors)
  rmSync(coverageFolder, { recursive: true, force: true })
  if (!existsSync(summaryFile)) return code
  const summary: CoverageSummary = JSON.parse(readFileSync(summaryFile, 'utf8'))
  const floor: Floor = JSON.parse(readFileSync(join(import.meta.dirname, 'coverage-floor.json'), 'utf8'))
  const { text, isBelow } = coverageReport(summary, floor, root)
  console.log(text)
  return isBelow ? 1 : code
}

async function runTap (env: Record<string, string>, ...options: string[]): Promise<number> {
  const program = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')
  // Options of Node.js in the environment come before those of tap.
  const first = pathToFileURL(join(import.meta.dirname, 'setup', 'no-module-hooks.ts')).href
  const tap = spawn(process.execPath, [program, ...options, ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_COMPILE_CACHE: compiled, NODE_OPTIONS: `--import=${first} ${process.env['NODE_OPTIONS'] ?? ''}`, ...env }
  })
  const [code] = await once(tap, 'exit')
  return code ?? 1
}
