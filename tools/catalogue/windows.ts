import type { CatalogueRow } from '../../services/config/catalogue/catalogue-file.ts'
import { undatedName } from '../../services/config/catalogue/models.ts'

type Providers = Record<string, Record<string, CatalogueRow>>

/** Providers that run the models they make; all others run those of several makers. */
const makers: ReadonlySet<string> = new Set(['openai', 'anthropic', 'gemini', 'xai', 'mistral', 'deepseek', 'moonshot'])

/** Up to this ratio, windows differ by how they were rounded. */
const rounding = 1.1

/**
 * Makes the context windows of a model agree at different services. No service has a longer window than the
 * model's maker; of windows that differ by rounding the shorter one counts for all; other services keep
 * theirs, because many run a model with a shorter window. A maker's model without a window has the shortest
 * one of the others, and an answer as long as the window is no limit. A version with a date has the window of
 * the name without it, because litellm gives the longest prompt. `report` is called for each difference.
 */
export function withAgreedWindows (providers: Providers, report: (text: string) => void): Providers {
  const groups = Map.groupBy(windowsOf(providers), ({ name }) => name)
  const agreed = new Map<CatalogueRow, number>()
  const least = (name: string): number | undefined => {
    const windows = groups.get(plainName(name))?.map(({ window }) => window)
    return windows && Math.min(...windows)
  }
  for (const [name, group] of groups) {
    if (new Set(group.map(({ window }) => window)).size === 1) continue
    const ofMaker = group.find(({ provider }) => makers.has(provider))?.window ?? Infinity
    for (const one of group) {
      const alike = group.map(({ window }) => window)
        .filter(window => window <= one.window && one.window <= window * rounding)
      agreed.set(one.row, Math.min(ofMaker, ...alike))
    }
    const kept = group.map(one => `${one.window} (${one.provider}; kept ${agreed.get(one.row)})`)
    report(`${name}: window ${kept.join(', ')}`)
  }
  return mapRows(providers, (row, name, provider) => {
    const maxOutput = isWholeWindow(row) ? { maxOutput: longestOutput } : {}
    const undated = providers[provider]?.[undatedName(name)] ?? row
    if (undated !== row && undated.contextWindow !== undefined) {
      return { ...row, ...maxOutput, contextWindow: agreed.get(undated) ?? undated.contextWindow }
    }
    const isUnknown = row.kind === 'chat' && row.contextWindow === undefined && makers.has(provider)
    const contextWindow = isUnknown ? least(name) : agreed.get(row)
    return { ...row, ...maxOutput, ...(contextWindow === undefined ? {} : { contextWindow }) }
  })
}

/** Sources without a model's longest answer repeat its window, which is too much to hold. */
const longestOutput = 131_072

function isWholeWindow ({ kind, maxOutput = 0, contextWindow = Infinity }: CatalogueRow): boolean {
  return kind === 'chat' && maxOutput > longestOutput && maxOutput >= contextWindow * 0.9
}

interface Window { name: string, provider: string, window: number, row: CatalogueRow }

function windowsOf (providers: Providers): Window[] {
  return Object.entries(providers).flatMap(([provider, rows]) => {
    return Object.entries(rows).flatMap(([name, row]) => {
      if (row.kind !== 'chat' || row.contextWindow === undefined) return []
      return [{ name: plainName(name), provider, window: row.contextWindow, row }]
    })
  })
}

/** The name without its maker and its spelling: `claude-opus-4-5` for `anthropic/claude-opus-4.5`. */
function plainName (name: string): string {
  const own = name.slice(name.lastIndexOf('/') + 1).toLowerCase().replace(/:.*$/, '')
  return own.replaceAll(/[._]|(?<=\d)p(?=\d)/g, '-')
}

function mapRows (
  providers: Providers, map: (row: CatalogueRow, name: string, provider: string) => CatalogueRow
): Providers {
  return Object.fromEntries(Object.entries(providers).map(([id, rows]) => {
    return [id, Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, map(row, name, id)]))]
  }))
}
