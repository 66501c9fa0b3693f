import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { loadWeights } from '../../services/routing/scoring/weights.ts'
import type { Run } from './readers.ts'
import { repositories, type LevelsRepository } from './sources.ts'
import { levelsTable, levelsText } from './table.ts'

const limits = { bytes: 256 * 1024 * 1024, downloadMs: 300_000 }
const table = fileURLToPath(new URL('../../services/routing/scoring/published-levels.json', import.meta.url))

await new Command('levels')
  .description('Refreshes the published levels of models from public repositories.')
  .argument('[source]', 'folder with <owner>/<name>/, or URL with <owner>/<name>/tar.gz/HEAD', 'https://codeload.github.com')
  .option('--date <yyyy-mm-dd>', 'of the table', new Date().toISOString().slice(0, 10))
  .option('--output <file>', 'file to write', table)
  .action(refresh)
  .parseAsync()

async function refresh (source: string, { date, output }: { date: string, output: string }): Promise<void> {
  const isRemote = /^https?:/.test(source)
  const folder = isRemote ? mkdtempSync(join(tmpdir(), 'levels-')) : source
  try {
    const results: Record<string, readonly Run[]> = {}
    for (const repository of repositories) {
      const own = join(folder, repository.name)
      if (isRemote) await download(source, repository, own)
      Object.assign(results, repository.read(own))
    }
    const file = levelsTable(results, loadWeights(), date)
    writeFileSync(output, levelsText(file))
    process.stdout.write(`${output}: ${Object.keys(file.models).length} models\n`)
  } finally {
    if (isRemote) rmSync(folder, { recursive: true })
  }
}

/** Unpacks what is needed; the files keep the time of the commit, which dates results without a date. */
async function download (source: string, { name, paths }: LevelsRepository, folder: string): Promise<void> {
  const url = `${source}/${name}/tar.gz/HEAD`
  const response = await fetch(url, { signal: AbortSignal.timeout(limits.downloadMs) })
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`)
  mkdirSync(folder, { recursive: true })
  const wanted = paths.map(path => `*/${path}`)
  const arguments_ = ['-xzf', '-', '-C', folder, '--strip-components=1', '--wildcards', ...wanted]
  const tar = spawn('tar', arguments_, { stdio: ['pipe', 'ignore', 'inherit'] })
  const ended = new Promise<number | null>((resolve, reject) => tar.on('error', reject).on('close', resolve))
  let bytes = 0
  await pipeline(Readable.fromWeb(response.body), async function * (parts: AsyncIterable<Uint8Array>) {
    for await (const part of parts) {
      bytes += part.byteLength
      if (bytes > limits.bytes) throw new Error(`${url} is larger than ${limits.bytes} bytes`)
      yield part
    }
  }, tar.stdin)
  if (await ended !== 0) throw new Error(`${url} could not be unpacked, or has no ${paths.join(', ')}`)
}
