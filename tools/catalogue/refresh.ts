import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { knownProviders } from '../../schemas/config/known-providers.ts'
import { corrected } from './corrections.ts'
import { readCatalogueSource } from './source.ts'
import { catalogueText } from './text.ts'

const limits = { bytes: 64 * 1024 * 1024, downloadMs: 60_000 }
const dataFile = fileURLToPath(new URL('../../services/config/catalogue/models.json', import.meta.url))

await new Command('catalogue')
  .description('Refreshes the catalogue of known models from the open data of models.dev.')
  .argument('[source]', 'file or URL', 'https://models.dev/api.json')
  .option('--output <file>', 'file to write', dataFile)
  .action(refresh)
  .parseAsync()

async function refresh (source: string, { output }: { output: string }): Promise<void> {
  const text = /^https?:/.test(source) ? await download(source) : await readFile(source, 'utf8')
  const ids = knownProviders.filter(({ mediaOnly }) => mediaOnly !== true).map(({ id }) => id)
  const { date, providers, notes } = readCatalogueSource(text, ids)
  await writeFile(output, catalogueText({
    source: 'https://models.dev',
    license: 'MIT, Copyright (c) 2025 models.dev; see LICENSE beside this file',
    date: date ?? new Date().toISOString().slice(0, 10),
    units: 'Prices are integer pico-USD per token: the number of USD per million tokens times 1,000,000.',
    providers: corrected(providers)
  }))
  const models = Object.values(providers).flatMap(rows => Object.keys(rows)).length
  process.stdout.write([...notes, `${models} models of ${Object.keys(providers).length} providers`, ''].join('\n'))
}

async function download (url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(limits.downloadMs) })
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body) {
    bytes += part.byteLength
    if (bytes > limits.bytes) throw new Error(`${url} is larger than ${limits.bytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}
