import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { Command } from 'commander'
import { knownProviders } from '../../schemas/config/known-providers.ts'
import type { CatalogueFile } from '../../services/config/catalogue/catalogue-file.ts'
import { corrected } from './corrections.ts'
import { mergeSources, type Source } from './merge.ts'
import { downloadSources } from './packages.ts'
import { readCatalogueSource } from './source.ts'
import { catalogueText } from './text.ts'
import { withAgreedWindows } from './windows.ts'

const limits = { bytes: 64 * 1024 * 1024, downloadMs: 60_000 }
const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

await new Command('catalogue')
  .description('Refreshes the catalogue of models from models.dev, and from the tables in litellm (PyPI) and pi-ai (npm).')
  .argument('[source]', 'file or URL of models.dev, e.g. https://models.dev/api.json', fileOf('models-dev.json.gz'))
  .option('--output <file>', 'file to write', fileOf('../../services/config/catalogue/models.json'))
  .option('--report <file>', 'file for omitted prices and for contradictions between sources', fileOf('contradictions.txt'))
  .option('--no-packages', 'read models.dev alone')
  .action(refresh)
  .parseAsync()

async function refresh (
  source: string, { output, report, packages }: { output: string, report: string, packages: boolean }
): Promise<void> {
  const sources = [await modelsDev(source), ...packages ? await downloadSources() : []]
  const { providers, contradictions } = mergeSources(sources)
  const windows: string[] = []
  const previous = await readFile(output, 'utf8').then(JSON.parse, () => ({ providers: {} }))
  const seen = withFirstDays(providers, previous, sources)
  const agreed = withAgreedWindows(corrected(seen), text => windows.push(text))
  const dates = sources.map(({ date }) => date).toSorted()
  await writeFile(output, catalogueText({
    source: sources.map(({ name, version }) => `${name} ${version}`.trim()).join(', '),
    license: 'MIT, Copyright (c) 2025 models.dev; see LICENSE beside this file. Of the others, facts alone.',
    date: dates.at(-1) ?? '',
    units: 'Prices are integer pico-USD per token: the number of USD per million tokens times 1,000,000.',
    sources: Object.fromEntries(sources.map(({ id, name, version, date, license }) => {
      return [id, { name, version, date, license }]
    })),
    providers: agreed
  }))
  const notes = sources.flatMap(one => one.notes.map(note => `${one.id}: ${note}`))
  const count = Object.values(agreed).flatMap(rows => Object.keys(rows)).length
  await writeFile(report, [...contradictions, ...windows, ...notes, ''].join('\n'))
  process.stdout.write([
    ...notes, ...contradictions, ...windows, `${count} models of ${Object.keys(agreed).length} providers`, ''
  ].join('\n'))
}

/** Models whose day of release no source has keep the day on which the catalogue first had them. */
function withFirstDays (
  providers: Source['providers'], { providers: previous }: Pick<CatalogueFile, 'providers'>, sources: readonly Source[]
): Source['providers'] {
  const today = new Set(sources.slice(1).map(({ date }) => date))
  return Object.fromEntries(Object.entries(providers).map(([id, rows]) => [id, Object.fromEntries(
    Object.entries(rows).map(([name, row]) => {
      const released = today.has(row.released) ? previous[id]?.[name]?.released ?? row.released : row.released
      return [name, { ...row, released }]
    })
  )]))
}

async function modelsDev (source: string): Promise<Source> {
  const bytes = /^https?:/.test(source) ? await download(source) : await readFile(source)
  const text = (source.endsWith('.gz') ? gunzipSync(bytes, { maxOutputLength: limits.bytes }) : bytes).toString()
  const ids = knownProviders.filter(({ mediaOnly }) => mediaOnly !== true).map(({ id }) => id)
  const { date, providers, notes } = readCatalogueSource(text, ids)
  const today = new Date().toISOString().slice(0, 10)
  return { id: 'models.dev', name: 'https://models.dev', version: '', date: date ?? today, license: 'MIT', providers, notes }
}

async function download (url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(limits.downloadMs) })
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body) {
    bytes += part.byteLength
    if (bytes > limits.bytes) throw new Error(`${url} is larger than ${limits.bytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
