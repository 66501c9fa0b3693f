import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { nameVariants } from '../../services/routing/scoring/profile.ts'
import { logOdds } from '../../services/routing/scoring/log-odds.ts'
import { loadWeights } from '../../services/routing/scoring/weights.ts'
import { levelKey, levelSlope, type LevelsFile, type MeasuredLevel } from '../../services/routing/scoring/published-levels.ts'

const usage = `npm run levels -- --aider <folder> --tau <folder> [--date <yyyy-mm-dd>]
  Writes services/routing/scoring/published-levels.json from clones of the sources.
  --aider <folder>  aider/website/_data of github.com/Aider-AI/aider
  --tau <folder>    web/leaderboard/public/submissions of github.com/sierra-research/tau2-bench
  --date <date>     of the table; default: today`

const { values } = parseArgs({
  options: { aider: { type: 'string' }, tau: { type: 'string' }, date: { type: 'string' }, help: { type: 'boolean' } }
})

if (values.help === true || values.aider === undefined || values.tau === undefined) {
  console.error(usage)
  process.exitCode = values.help === true ? 0 : 2
} else {
  const date = values.date ?? new Date().toISOString().slice(0, 10)
  const file = tableOf(readAider(values.aider), readTau(values.tau), date)
  const path = fileURLToPath(new URL('../../services/routing/scoring/published-levels.json', import.meta.url))
  writeFileSync(path, `${JSON.stringify(file, null, 1)}\n`)
  console.log(`${path}: ${Object.keys(file.models).length} models`)
}

interface Run { name: string, share: number, date: string }
type Sources = Readonly<Record<string, readonly Run[]>>

/** The runs of one model each, with the share of tasks solved at the second attempt. */
function readAider (folder: string): Sources {
  const read = (name: string): Run[] => {
    const rows: { model: string, pass_rate_2?: number, date?: string | Date }[] =
      parse(readFileSync(join(folder, name), 'utf8'))
    return rows.flatMap(({ model, pass_rate_2: percent, date }) => {
      if (percent === undefined || model.includes(' + ')) return []
      const day = new Date(date ?? 0).toISOString().slice(0, 10)
      return [{ name: plainName(model), share: percent / 100, date: day }]
    })
  }
  return { 'aider-polyglot': read('polyglot_leaderboard.yml'), 'aider-edit': read('edit_leaderboard.yml') }
}

interface Submission {
  model_name: string
  submission_date: string
  submission_type?: string
  modality?: string
  results: Record<string, { pass_1: number | null } | null>
}

/** Text agents as they are: no voice, and nothing built around the model. */
function readTau (folder: string): Sources {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.json') && !name.includes('EXAMPLE') && !name.includes('manifest'))
  const service: Run[] = []
  const banking: Run[] = []
  for (const name of files.toSorted()) {
    const submission: Submission = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    const { model_name: model, submission_date: date } = submission
    const { submission_type: type = 'standard', modality = 'text' } = submission
    if (type !== 'standard' || modality !== 'text') continue
    const shareOf = (domain: string) => (submission.results[domain]?.pass_1 ?? NaN) / 100
    const run = (share: number) => ({ name: plainName(model), share, date })
    const both = (shareOf('retail') + shareOf('airline')) / 2
    if (!Number.isNaN(both)) service.push(run(both))
    if (!Number.isNaN(shareOf('banking_knowledge'))) banking.push(run(shareOf('banking_knowledge')))
  }
  return { 'tau2-service': service, 'tau2-banking': banking }
}

function plainName (name: string): string {
  return nameVariants(name.toLowerCase().replace(/[ ,]*\(.*$|,.*$/, '').trim().replaceAll(' ', '-'))[0] ?? ''
}

type Medians = Readonly<Record<string, ReadonlyMap<string, Run>>>
type LevelOf = (name: string) => number | undefined

/** The middle run of each model. */
function mediansOf (sources: Sources): Medians {
  return Object.fromEntries(Object.entries(sources).map(([source, runs]) => {
    const byName = Map.groupBy(runs, ({ name }) => name)
    return [source, new Map([...byName].map(([name, own]) => [name, middleOf(own)]))]
  }))
}

/** The mean odds and the mean level of the models of a source that are known otherwise. */
function anchorOf (runs: ReadonlyMap<string, Run> | undefined, levelOf: LevelOf) {
  const both = [...runs ?? []].flatMap(([name, { share }]) => {
    const level = levelOf(name)
    return level === undefined ? [] : [{ odds: logOdds(share), level }]
  })
  const [odds, level] = [mean(both.map(one => one.odds)), mean(both.map(one => one.level))]
  return { odds: rounded(odds), level: rounded(level) }
}

/** The levels of all sources, and where each source stands relative to the trained models. */
function tableOf (aider: Sources, tau: Sources, updated: string): LevelsFile {
  const medians = mediansOf({ ...aider, ...tau })
  const weights = loadWeights()
  const levelOf: LevelOf = name => {
    const levels = nameVariants(name).map(one => {
      return weights.models[weights.aliases[one] ?? one]?.level ?? weights.levels[one]
    })
    return levels.find(one => one !== undefined)
  }
  const service = anchorOf(medians['tau2-service'], levelOf)
  // Its models are too new to be known otherwise, but some are in the older part of the same benchmark.
  const banking = anchorOf(medians['tau2-banking'], name => {
    const share = medians['tau2-service']?.get(name)?.share
    return share === undefined ? undefined : service.level + levelSlope * (logOdds(share) - service.odds)
  })
  const [polyglot, edit] = [anchorOf(medians['aider-polyglot'], levelOf), anchorOf(medians['aider-edit'], levelOf)]
  const aiderSource = { url: 'https://github.com/Aider-AI/aider', licence: 'Apache-2.0', domain: 'code' as const }
  const tauUrl = 'https://github.com/sierra-research/tau2-bench'
  const tauSource = { url: tauUrl, licence: 'MIT', domain: 'tools' as const }
  const sources = {
    'aider-polyglot': { title: 'Aider polyglot', tasks: 225, ...aiderSource, ...polyglot },
    'aider-edit': { title: 'Aider edit', tasks: 133, ...aiderSource, ...edit },
    'tau2-service': { title: 'tau2-bench retail and airline', tasks: 164, ...tauSource, ...service },
    'tau2-banking': { title: 'tau2-bench banking', tasks: 97, ...tauSource, ...banking }
  }
  const models: Record<string, Partial<Record<'code' | 'tools', MeasuredLevel>>> = {}
  for (const [source, { domain }] of Object.entries(sources)) {
    // The latest of several dated releases has the name without a date, too.
    const latestFirst = [...medians[source] ?? []]
      .toSorted(([, one], [, other]) => one.date < other.date ? 1 : -1)
    for (const [name, { share, date }] of latestFirst) {
      for (const variant of nameVariants(name).map(levelKey)) {
        models[variant] ??= {}
        models[variant][domain] ??= { share: rounded(share), source, date }
      }
    }
  }
  const sorted = Object.entries(models).toSorted(([one], [other]) => one < other ? -1 : 1)
  return { updated, sources, models: Object.fromEntries(sorted) }
}

function middleOf (runs: readonly Run[]): Run {
  const sorted = runs.toSorted((one, other) => one.share - other.share)
  return sorted[Math.floor(sorted.length / 2)] as Run
}

function mean (values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}

function rounded (value: number): number {
  return Number(value.toFixed(3))
}
