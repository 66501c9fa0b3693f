import type { Domain } from '../../services/config/catalogue/types.ts'
import { logOdds } from '../../services/routing/scoring/log-odds.ts'
import { nameVariants } from '../../services/routing/scoring/profile.ts'
import {
  levelKey, levelSlope, type LevelsFile, type LevelSource, type MeasuredLevel
} from '../../services/routing/scoring/published-levels.ts'
import type { RouterWeights } from '../../services/routing/scoring/weights.ts'
import type { Run } from './readers.ts'
import { benchmarks, repositories, type Benchmark } from './sources.ts'

/** Fewer models in common with what is known place a benchmark too badly. */
const minAnchors = 3

/** Where the levels of models that were left out are predicted better with more of the differences. */
const slopeOf: Partial<Record<Domain, number>> = { math: 0.7, knowledge: 0.7 }

type Models = Record<string, Partial<Record<Domain, MeasuredLevel>>>

type Known = Pick<RouterWeights, 'models' | 'aliases' | 'levels'>

/**
 * The table of levels: for each model and domain the result of the first benchmark that has it, and where
 * each benchmark stands relative to the trained models. Throws an Error if a benchmark has no results, or
 * too few of models that are known otherwise.
 */
export function levelsTable (
  results: Readonly<Record<string, readonly Run[]>>, weights: Known, updated: string
): LevelsFile {
  const sources: Record<string, LevelSource> = {}
  const models: Models = {}
  for (const [id, benchmark] of Object.entries(benchmarks)) {
    const runs = mediansOf(results[id] ?? [])
    const anchor = anchorOf(runs, name => knownLevel(name, benchmark.domain, weights, { sources, models }))
    const { title, repository } = benchmark
    if (anchor === null) {
      throw new Error(`${title} in ${repository} has ${runs.length} models, too few of them known: has its form changed?`)
    }
    const wrong = runs.find(({ share }) => share < 0 || share > 1)
    if (wrong !== undefined) throw new Error(`${title} in ${repository} has ${wrong.share} for ${wrong.name}, which is no share.`)
    sources[id] = { ...describe(benchmark), ...anchor }
    addRuns(models, id, benchmark.domain, runs)
  }
  const sorted = Object.entries(models).toSorted(([one], [other]) => one < other ? -1 : 1)
  return { updated, sources, models: Object.fromEntries(sorted) }
}

function describe (
  { title, repository, domain, tasks, slope = slopeOf[domain] ?? levelSlope }: Benchmark
): Omit<LevelSource, 'odds' | 'level'> {
  const licence = repositories.find(({ name }) => name === repository)?.licence ?? ''
  return { title, url: `https://github.com/${repository}`, licence, domain, tasks, slope }
}

/** Adds what earlier benchmarks lack; the latest of several releases has the name without a date, too. */
function addRuns (models: Models, source: string, domain: Domain, runs: readonly Run[]): void {
  for (const { name, share, date } of runs.toSorted((one, other) => one.date < other.date ? 1 : -1)) {
    for (const variant of nameVariants(name).map(levelKey)) {
      models[variant] ??= {}
      models[variant][domain] ??= { share: rounded(share), source, date }
    }
  }
}

/** The level of a model in the training data, else in earlier benchmarks of the domain, else of any. */
function knownLevel (
  name: string, domain: Domain, weights: Known, { sources, models }: Pick<LevelsFile, 'sources' | 'models'>
): number | undefined {
  const names = nameVariants(name)
  const trained = names.map(one => weights.models[weights.aliases[one] ?? one]?.level ?? weights.levels[one])
  const found = trained.find(level => level !== undefined)
  if (found !== undefined) return found
  const own = names.map(one => models[levelKey(one)]).find(levels => levels !== undefined) ?? {}
  const levels = Object.entries(own).flatMap(([its, { share, source }]) => {
    const { odds, level, slope } = sources[source] as LevelSource
    return [{ domain: its, level: level + slope * (logOdds(share) - odds) }]
  })
  return levels.find(one => one.domain === domain)?.level ?? mean(levels.map(({ level }) => level))
}

/** The mean odds and the mean level of the models that are known otherwise; null if they are too few. */
function anchorOf (
  runs: readonly Run[], levelOf: (name: string) => number | undefined
): Pick<LevelSource, 'odds' | 'level'> | null {
  const both = runs.flatMap(({ name, share }) => {
    const level = levelOf(name)
    return level === undefined ? [] : [{ odds: logOdds(share), level }]
  })
  const [odds, level] = [mean(both.map(one => one.odds)), mean(both.map(one => one.level))]
  if (both.length < minAnchors || odds === undefined || level === undefined) return null
  return { odds: rounded(odds), level: rounded(level) }
}

/** The middle run of each model. */
function mediansOf (runs: readonly Run[]): Run[] {
  return [...Map.groupBy(runs, ({ name }) => name).values()].map(own => {
    const sorted = own.toSorted((one, other) => one.share - other.share)
    return sorted[Math.floor(sorted.length / 2)] as Run
  })
}

function mean (values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The file, with a line for each source and model. */
export function levelsText ({ updated, sources, models }: LevelsFile): string {
  const lines = (record: object) =>
    Object.entries(record).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(',\n')
  return `{\n "updated": "${updated}",\n "sources": {\n${lines(sources)}\n },\n "models": {\n${lines(models)}\n }\n}\n`
}

function rounded (value: number): number {
  return Number(value.toFixed(3))
}
