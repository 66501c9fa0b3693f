import { readFileSync } from 'node:fs'
import type { Domain } from '../../config/catalogue/types.ts'
import { ownMember } from '../../shared/json.ts'
import { logOdds } from './log-odds.ts'

/** The table of levels that `npm run levels` writes. */
export interface LevelsFile {
  /** When it was written, as a date. */
  updated: string
  sources: Readonly<Record<string, LevelSource>>
  /** By model name in lower case without its maker, then by domain. */
  models: Readonly<Record<string, Partial<Record<Domain, MeasuredLevel>>>>
}

/** Where levels are from, and how they relate to the levels of the trained models. */
export interface LevelSource {
  title: string
  url: string
  licence: string
  domain: Domain
  tasks: number
  /** The mean log-odds of the models that are known otherwise, and their mean level. */
  odds: number
  level: number
  /** How much of the differences between models counts. */
  slope: number
}

/** The share of tasks that a model has solved, and when that was measured. */
export interface MeasuredLevel { share: number, source: string, date: string }

/** A level on the scale of the trained models, in log-odds, and what it rests on. */
export interface PublishedLevel {
  level: number
  basis: 'measured' | 'family'
  /** Title of the source. */
  source: string
  date: string
}

/**
 * What a level rests on. `operator`: the configuration. `measured`: outcomes of this model in the domain.
 * `family`: those of another release, or in other domains. `guessed`: its price, size and age. `source` and
 * `date` say where and when it was measured, null if that is not known.
 */
export interface LevelBasis {
  basis: 'operator' | 'measured' | 'family' | 'guessed'
  source: string | null
  date: string | null
}

/** Benchmarks spread models more widely than ordinary requests do; see docs/routing.md. */
export const levelSlope = 0.5

/** Reads the table of the gateway. */
export function loadPublishedLevels (url = new URL('./published-levels.json', import.meta.url)): LevelsFile {
  return JSON.parse(readFileSync(url, 'utf8'))
}

/**
 * Returns what is published of a model in a domain: of itself, else of the last release of its family that
 * was measured; undefined if there is neither. `names` are the spellings of its name.
 */
export function publishedLevel (
  names: readonly string[], domain: Domain, { sources, models }: LevelsFile
): PublishedLevel | undefined {
  const find = (names: readonly string[]) =>
    names.map(name => ownMember(models, name)?.[domain]).find(found => found !== undefined)
  const keys = names.map(levelKey)
  const own = find(keys)
  const measured = own ?? find(keys.flatMap(earlierNames))
  const source = measured && sources[measured.source]
  if (measured === undefined || source === undefined) return undefined
  const { title, odds, level, slope } = source
  return {
    level: level + slope * (logOdds(measured.share) - odds),
    basis: own === undefined ? 'family' : 'measured',
    source: title,
    date: measured.date
  }
}

/** The name of a model in the table: some write `4-5` for `4.5`. */
export function levelKey (name: string): string {
  return name.replaceAll('.', '-')
}

/** Names of earlier releases of a family: `claude-opus-4` for `claude-opus-4-5`, `gpt-5` for `gpt-5-2`. */
function earlierNames (name: string): string[] {
  const earlier: string[] = []
  let rest = name
  while (/\d.*-\d+$/.test(rest)) {
    rest = rest.replace(/-\d+$/, '')
    earlier.push(rest)
  }
  return earlier
}
