import { execFile } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The version of OpenAI's SDK for Python with which the gateway is tested. */
const version = '3.54.0'
const folder = join(import.meta.dirname, '..', 'node_modules', '.cache', 'tollgate', `openai-python-${version}`)
const python = join(folder, 'bin', 'python')
const ready = join(folder, 'ready')
const limitMs = 300_000

/** A Python that has OpenAI's SDK; null if `preparePython` has not made one. */
export function findPython (): string | null {
  return existsSync(ready) ? python : null
}

/** The same, made in a folder of its own if need be; null where there is no Python, or no package index. */
export async function preparePython (): Promise<string | null> {
  if (existsSync(ready)) return python
  rmSync(folder, { recursive: true, force: true })
  const run = promisify(execFile)
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: limitMs })
    const options = ['--quiet', '--disable-pip-version-check', '--retries', '2']
    await run(python, ['-m', 'pip', 'install', ...options, `openai==${version}`], { timeout: limitMs })
    await run(python, ['-c', 'import openai'], { timeout: limitMs })
  } catch (error) {
    const reason = String(Object(error).stderr || error).trim().split('\n').at(-1)
    process.stdout.write(`openai-python cannot be installed, its tests are skipped: ${reason}\n`)
    return null
  }
  writeFileSync(ready, `${version}\n`)
  return python
}
