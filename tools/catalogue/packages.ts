import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readLitellm } from './litellm.ts'
import type { Source } from './merge.ts'
import { piFiles, readPiAi } from './pi-ai.ts'

const run = promisify(execFile)

/** Reads the newest litellm of PyPI and the newest pi-ai of npm, by `pip` and `npm`; needs the network. */
export async function downloadSources (): Promise<Source[]> {
  const folder = await mkdtemp(join(tmpdir(), 'catalogue-'))
  try {
    return [await litellm(folder), await piAi(folder)]
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function litellm (folder: string): Promise<Source> {
  await run('pip', ['download', 'litellm', '--no-deps', '--quiet', '--dest', folder])
  const wheel = (await readdir(folder)).find(name => name.endsWith('.whl')) ?? 'litellm.whl'
  await run('python3', ['-m', 'zipfile', '-e', wheel, 'litellm'], { cwd: folder })
  const table = join(folder, 'litellm/litellm/model_prices_and_context_window_backup.json')
  // The wheel states no dates; its table is of the day on which it is read.
  const today = new Date().toISOString().slice(0, 10)
  return readLitellm(await readFile(table, 'utf8'), wheel.split('-')[1] ?? '', today)
}

async function piAi (folder: string): Promise<Source> {
  const name = '@earendil-works/pi-ai'
  const { stdout: version } = await run('npm', ['view', `${name}@latest`, 'version'])
  // Without the version, npm takes one for its own Node.js.
  const { stdout: packed } = await run('npm', ['pack', `${name}@${version.trim()}`, '--silent'], { cwd: folder })
  await run('tar', ['xzf', packed.trim()], { cwd: folder })
  const data = join(folder, 'package/dist/providers/data')
  const files = await Promise.all(Object.keys(piFiles).map(async file => {
    return [file, await readFile(join(data, `${file}.json`), 'utf8')] as const
  }))
  const { generatedAt }: { generatedAt: string } = JSON.parse(await readFile(join(data, '.manifest.json'), 'utf8'))
  return readPiAi(Object.fromEntries(files), version.trim(), generatedAt.slice(0, 10))
}
