import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

/** A Python of its own with packages of the index; a new name stands for other versions. */
export interface PythonSetup { name: string, packages: readonly string[] }

/** OpenAI's SDK as `npm test` uses it. */
const openaiSdk: PythonSetup = { name: 'openai-python-3.54.0', packages: ['openai==3.54.0'] }

/** What `npm run test:agents` uses. */
export const agentPackages: PythonSetup = {
  name: 'agents-python-1',
  packages: [
    'openai==3.57.0', 'anthropic==2.14.0', 'openai-agents==0.24.0', 'pydantic-ai-slim[openai,anthropic]==2.68.0'
  ]
}

export const aiderPackages: PythonSetup = { name: 'aider-0.86.2', packages: ['aider-chat==0.86.2'] }

const limitMs = 600_000

const caches = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'tollgate')
const folderOf = ({ name }: PythonSetup): string => join(caches, name)
const readyIn = (folder: string): string => join(folder, 'ready')
const failedIn = (folder: string): string => join(folder, 'failed')
const pythonIn = (folder: string): string => join(folder, 'bin', 'python')

/** Of a process whose tests wait until `preparePython`, in another one, has ended. */
export const awaitPython = { TOLLGATE_TEST_AWAITS_PYTHON: '1' }

/** A Python that has the packages; null if `preparePython` has not made one. */
export async function findPython (setup = openaiSdk): Promise<string | null> {
  const folder = folderOf(setup)
  const isOver = (): boolean => existsSync(readyIn(folder)) || existsSync(failedIn(folder))
  if (process.env['TOLLGATE_TEST_AWAITS_PYTHON'] === '1') while (!isOver()) await pause(100)
  return existsSync(readyIn(folder)) ? pythonIn(folder) : null
}

/**
 * The same, made in a folder of its own if need be; null, with a line that says so, where there is no Python,
 * or no package index.
 */
export async function preparePython (setup = openaiSdk): Promise<string | null> {
  const { packages } = setup
  const folder = folderOf(setup)
  const python = pythonIn(folder)
  if (existsSync(readyIn(folder))) return python
  rmSync(folder, { recursive: true, force: true })
  const run = promisify(execFile)
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: limitMs })
    const options = ['--quiet', '--disable-pip-version-check', '--retries', '2']
    await run(python, ['-m', 'pip', 'install', ...options, ...packages], { timeout: limitMs })
    await run(python, ['-m', 'pip', 'check'], { timeout: limitMs })
  } catch (error) {
    const reason = String(Object(error).stderr || error).trim().split('\n').at(-1) ?? ''
    process.stdout.write(`SKIPPED: ${packages.join(', ')} cannot be installed for Python: ${reason}\n`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(failedIn(folder), reason)
    return null
  }
  writeFileSync(readyIn(folder), `${packages.join('\n')}\n`)
  return python
}
