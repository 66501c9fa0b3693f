import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { nameVariants } from '../../services/routing/scoring/profile.ts'

/** What one model has reached in one run of a benchmark; `share` is 0 to 1. */
export interface Run { name: string, share: number, date: string }

type Runs = Record<string, Run[]>

/** Those of one model each, with the share of tasks solved at the second attempt. */
export function readAider (folder: string): Runs {
  const read = (name: string): Run[] => {
    const rows: { model: string, pass_rate_2?: number, date?: string | Date }[] =
      parse(readFileSync(join(folder, 'aider/website/_data', name), 'utf8'))
    return rows.flatMap(({ model, pass_rate_2: percent, date }) => {
      if (percent === undefined || model.includes(' + ')) return []
      return [{ name: plainName(model), share: percent / 100, date: dayOf(new Date(date ?? 0)) }]
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
export function readTau (folder: string): Runs {
  const from = join(folder, 'web/leaderboard/public/submissions')
  const files = globSync('*/submission.json', { cwd: from }).filter(name => !name.includes('EXAMPLE'))
  const service: Run[] = []
  const banking: Run[] = []
  for (const name of files.toSorted()) {
    const submission: Submission = JSON.parse(readFileSync(join(from, name), 'utf8'))
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

/** Of several efforts of a model only the default one. */
export function readSimpleEvals (folder: string): Runs {
  const path = join(folder, 'README.md')
  const results = tableOf(path, 'SimpleQA')
  const column = (title: string): Run[] => results.rows.flatMap(row => {
    return runOf(row.Model, row[title], path)
  })
  const [math = '', gpqa = ''] = ['MATH', 'GPQA'].map(start => results.titles.find(title => title.startsWith(start)))
  const languagesPath = join(folder, 'multilingual_mmlu_benchmark_results.md')
  const languages = tableOf(languagesPath, 'Language')
  const average = languages.rows.findLast(({ Language: name }) => name === 'Average') ?? {}
  return {
    'simple-evals-math': column(math),
    'simple-evals-gpqa': column(gpqa),
    'simple-evals-mmmlu': Object.entries(average).flatMap(([model, share]) => {
      return runOf(model, String(100 * Number(share.replaceAll('*', ''))), languagesPath)
    })
  }
}

/** The share of summaries that say only what the text says. */
export function readSummaries (folder: string): Runs {
  const path = join(folder, 'README.md')
  const { rows } = tableOf(path, 'Factual Consistency Rate')
  return { summaries: rows.flatMap(row => runOf(row.Model, row['Factual Consistency Rate'], path)) }
}

/** Names are in the links, because the labels leave out sizes. */
export function readRuler (folder: string): Runs {
  const path = join(folder, 'README.md')
  const { rows } = tableOf(path, 'Effective Length')
  return {
    ruler: rows.flatMap(row => {
      const [, label = '', link = ''] = /^\[(.*?)\*?\]\((.*?)\)/.exec(row.Models ?? '') ?? []
      return runOf(link.startsWith('https://huggingface.co/') ? link : label, row['64K'], path)
    })
  }
}

/** The mark of a judge for tasks of real users, from 1 to 10, which the file has as -80 to 100. */
export function readWildBench (folder: string): Runs {
  const path = join(folder, 'leaderboard/data_dir/all_stat_wildbench.2000.json')
  const models: Record<string, { WB_score?: number }> = JSON.parse(readFileSync(path, 'utf8'))
  return {
    wildbench: Object.entries(models).flatMap(([model, { WB_score: score }]) => {
      const mark = (score ?? NaN) / 20 + 5
      return runOf(model.replace(/@.*|-greedy$/, ''), String(100 * (mark - 1) / 9), path)
    })
  }
}

interface Report { benchmark_id: string, normalized_score: number | null }

/** What makers report of their models, dated by the release of the model. */
export function readReports (folder: string): Runs {
  const runs: Runs = {}
  for (const path of globSync(join(folder, 'data/organizations/*/models/*/benchmarks.json')).toSorted()) {
    const reports: Report[] = JSON.parse(readFileSync(path, 'utf8'))
    const { model_id: name, release_date: date }: { model_id: string, release_date: string | null } =
      JSON.parse(readFileSync(join(path, '../model.json'), 'utf8'))
    for (const { benchmark_id: id, normalized_score: share } of reports) {
      if (share === null || date === null) continue
      const benchmark = `reported-${id}`
      runs[benchmark] ??= []
      runs[benchmark].push({ name: plainName(name), share, date })
    }
  }
  return runs
}

type Row = Readonly<Record<string, string>>

/** The first Markdown table with a column whose title begins so. */
function tableOf (path: string, title: string): { titles: string[], rows: Row[] } {
  const lines = readFileSync(path, 'utf8').split('\n')
  const cellsOf = (line: string) => line.replace(/^\|/, '').split('|').map(cell => cell.trim())
  const head = lines.findIndex(line => line.startsWith('|') && cellsOf(line).some(cell => cell.startsWith(title)))
  const titles = cellsOf(lines[head] ?? '').map(cell => cell.replaceAll('*', ''))
  const body = lines.slice(head + 2)
  const end = body.findIndex(line => !line.includes('|'))
  const rows = body.slice(0, end === -1 ? undefined : end).map(line => {
    return Object.fromEntries(cellsOf(line).map((cell, at) => [titles[at] ?? '', cell]))
  })
  return { titles, rows }
}

/** The run of a cell in percent, dated as the file; none if the cell has no number or another effort. */
function runOf (model: string | undefined, percent: string | undefined, path: string): Run[] {
  const name = plainName(model ?? '')
  const share = Number(percent?.replace(/<\/?\w+>|[%*]/g, '').trim() || NaN) / 100
  if (Number.isNaN(share) || name === '' || /-(low|high|minimal)(-|$)/.test(name)) return []
  return [{ name, share, date: dayOf(statSync(path).mtime) }]
}

/** The name in lower case without its maker, a link, or remarks in brackets. */
function plainName (name: string): string {
  const label = name.replace(/^\[(.*?)\]\(.*$/, '$1').replaceAll('*', '').toLowerCase().replace(/^(.*\/)?(meta|c4ai)-/, '')
  return nameVariants(label.replace(/[ ,]*[[(].*$|,.*$/, '').trim().replaceAll(' ', '-'))[0] ?? ''
}

function dayOf (date: Date): string {
  return date.toISOString().slice(0, 10)
}
