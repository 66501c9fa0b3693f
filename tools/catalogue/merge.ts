import type { CatalogueRow } from '../../services/config/catalogue/catalogue-file.ts'
import { dearest, type Cost } from '../../services/config/catalogue/dearest.ts'

type Providers = Record<string, Record<string, CatalogueRow>>

/** One source of the catalogue: facts of models by provider and name. */
export interface Source {
  id: string
  name: string
  version: string
  /** Date of its data, as `2026-11-20`. */
  date: string
  license: string
  providers: Providers
  /** What was left out and why; one line each. */
  notes: string[]
}

export interface Merged {
  providers: Providers
  /** Prices and lengths that differ between sources, and which one was kept; one line each. */
  contradictions: string[]
}

/**
 * Joins sources; those that come first describe a model, and give it the lengths they have. Of different
 * prices the dearer rates are kept, unless two newer sources agree that a price has fallen.
 */
export function mergeSources (sources: readonly Source[]): Merged {
  const providers: Providers = {}
  const contradictions: string[] = []
  for (const id of [...new Set(sources.flatMap(source => Object.keys(source.providers)))].toSorted()) {
    const names = new Set(sources.flatMap(source => Object.keys(source.providers[id] ?? {})))
    const rows = [...names].map(name => {
      const found = sources.flatMap(source => {
        const row = source.providers[id]?.[name]
        return row === undefined ? [] : [{ source, row }]
      })
      const report = (text: string): unknown => contradictions.push(`${id}/${name}: ${text}`)
      return [name, mergeRows(withoutDoubtfulZero(`${id}/${name}`, found, report), report)]
    })
    providers[id] = Object.fromEntries(rows)
  }
  return { providers, contradictions }
}

/** The day in a model's name, else that of a source without days of release. */
export function releasedBy (name: string, date: string): string {
  const [, year, month, day] = /[-@](20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])$/.exec(name) ?? []
  return day === undefined ? date : `${year}-${month}-${day}`
}

interface Found { source: Source, row: CatalogueRow }

const freeNames = /:free$|^nvidia\//

/**
 * The rows without a price of 0 that one of the newer tables alone has: it may stand for one that the table
 * does not know, such as that of a router. It counts if the name says `:free`, and at NVIDIA, whose hosted
 * models are free.
 */
function withoutDoubtfulZero (name: string, found: Found[], report: (text: string) => unknown): Found[] {
  const [first, second] = found.filter(({ row }) => isFree(row))
  if (second !== undefined || first?.source.id === 'models.dev' || freeNames.test(name)) return found
  return found.map(one => {
    if (!isFree(one.row)) return one
    report(`price omitted: it is 0 only at ${one.source.id}`)
    const { price, tiers, ...row } = one.row
    return { ...one, row }
  })
}

function isFree ({ price }: CatalogueRow): boolean {
  return price?.inputPico === 0 && price.outputPico === 0
}

function mergeRows (found: readonly Found[], report: (text: string) => void): CatalogueRow {
  const [first] = found
  if (first === undefined) throw new RangeError('A model without a source.')
  const { price: _, tiers: __, ...row } = first.row
  const contextWindow = lengthOf('contextWindow', found, report)
  const maxOutput = lengthOf('maxOutput', found, report)
  const priced = pricesOf(found, report)
  return {
    ...row,
    ...(contextWindow && { contextWindow }),
    ...(maxOutput && { maxOutput }),
    ...(priced && row.kind === 'chat' ? priced : onlyOwn(first.row, first.source.id)),
    ...(row.kind !== 'chat' && mediaPricesOf(found))
  }
}

/** The prices per second or image of the first source that has one. */
function mediaPricesOf (found: readonly Found[]): Partial<CatalogueRow> {
  const priced = found.find(({ row }) => row.videoPrices !== undefined || row.imagePrices !== undefined)
  if (priced === undefined) return {}
  const { source, row: { videoPrices, imagePrices } } = priced
  return { ...(videoPrices && { videoPrices }), ...(imagePrices && { imagePrices }), from: source.id }
}

/** The price of another kind of model stays as it is: the other sources have prices of text alone. */
function onlyOwn ({ price, tiers }: CatalogueRow, from: string): Partial<CatalogueRow> {
  return price === undefined ? {} : { price, ...(tiers && { tiers }), from }
}

/**
 * The length of the first source that has one, or the least window. Litellm has the length of a prompt
 * without its answer, which counts only where no other source has a length.
 */
function lengthOf (
  name: 'contextWindow' | 'maxOutput', found: readonly Found[], report: (text: string) => void
): number | undefined {
  const known = found.filter(({ row, source }) => row[name] !== undefined && source.id !== 'litellm')
  const lengths = known.map(({ row }) => row[name] ?? Infinity)
  const [first] = lengths
  if (first === undefined) return found.find(({ row }) => row[name] !== undefined)?.row[name]
  const least = name === 'contextWindow' ? Math.min(...lengths) : first
  if (lengths.some(length => length !== first)) {
    report(`${name} ${known.map(({ row, source }) => `${row[name]} (${source.id})`).join(', ')}; kept ${least}`)
  }
  return least
}

function pricesOf (
  found: readonly Found[], report: (text: string) => void
): Pick<CatalogueRow, 'price' | 'tiers' | 'from'> | undefined {
  const priced = found.filter(({ row }) => row.price !== undefined)
  const newest = priced.map(({ source }) => source.date).toSorted().at(-1) ?? ''
  const current = priced.filter(({ source }) => isCurrent(source.date, newest))
  const hasFallen = current.length > 1 && current.every(one => isSame(one.row, current[0]?.row))
  const counted = hasFallen ? current : priced
  if (counted.length === 0) return undefined
  const kept = dearest(counted.map(({ row }) => row))
  const [described] = priced
  if (priced.some(({ row }) => !isSame(row, described?.row))) {
    report(`${priced.map(({ row, source }) => `${text(row)} (${source.id})`).join(', ')}; kept ${text(kept)}`)
  }
  const from = (counted.findLast(({ row }) => isSame(row, kept)) ?? counted.at(-1))?.source.id
  return { ...kept, ...(from !== undefined && { from }) }
}

/** Prices of the same quarter are compared as equals. */
function isCurrent (date: string, newest: string): boolean {
  return Date.parse(newest) - Date.parse(date) < 92 * 86_400_000
}

/** Whether two rows cost the same per token of text, at every length. */
function isSame (one: Cost, other: Cost | undefined): boolean {
  return text(one) === (other && text(other))
}

function text ({ price, tiers = [] }: Cost): string {
  const usd = (pico: number | undefined): string => pico === undefined ? '-' : String(pico / 1e6)
  const above = tiers.map(tier => `, above ${tier.aboveTokens}: ${usd(tier.inputPico)}/${usd(tier.outputPico)}`)
  return `${usd(price?.inputPico)}/${usd(price?.outputPico)}${above.join('')}`
}
