import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TrainingRow } from '../../tools/routing/data.ts'
import type { ModelPair } from './tables.ts'

/** A problem, as LiveCodeBench/submissions keeps it beside each model's programs. */
interface Problem { question_id: string, question_content: string, starter_code: string }
/** A result in percent, as LiveCodeBench/livecodebench.github.io keeps it. */
interface Performance { question_id: string, model: string, 'pass@1': number }

/** One pair differs much in quality, one is by one maker, and of one the weaker model fails most problems. */
export const contestPairs: readonly ModelPair[] = [
  ['gpt-4o-2024-08-06', 'claude-3-haiku-20240307'],
  ['o1-mini-2024-09-12', 'gpt-4o-mini-2024-07-18'],
  ['claude-3-5-sonnet-20241022', 'llama-3.1-8b']
].map(([strong = '', weak = '']) => ({ id: 'contest', family: 'contest', strong, weak }))

/** The names of the training data. */
const names: Readonly<Record<string, string>> = {
  'claude-3-haiku': 'claude-3-haiku-20240307',
  'claude-3.5-sonnet-20240620': 'claude-3-5-sonnet-20240620',
  'claude-3.5-sonnet-20241022': 'claude-3-5-sonnet-20241022',
  'llama3.1-8b-ins': 'llama-3.1-8b'
}

/**
 * Reads the problems of LiveCodeBench: a row per problem, with the share, 0 to 1, of each model's programs
 * that passed after one repair. It is for measuring alone.
 * @param folder has checkouts of LiveCodeBench/submissions and LiveCodeBench/livecodebench.github.io, each in
 * a folder with the repository's name
 */
export function readLiveCodeBench (folder: string): TrainingRow[] {
  const json = (...path: string[]) => JSON.parse(readFileSync(join(folder, ...path), 'utf8'))
  const programs = globSync('*/Scenario.codegeneration_*.json', { cwd: join(folder, 'submissions') })
  const [first = ''] = programs.toSorted()
  const statements: Problem[] = json('submissions', first)
  const problems = new Map(statements.map(one => [one.question_id, one]))
  const { performances }: { performances: Performance[] } =
    json('livecodebench.github.io', 'src', 'mocks', 'performances_repair.json')
  return [...Map.groupBy(performances, one => one.question_id)].flatMap(([id, own]) => {
    const problem = problems.get(id)
    if (problem === undefined) return []
    const { question_content: statement, starter_code: starter } = problem
    const content = starter === '' ? statement : `${statement}\n\n${starter}`
    const y = Object.fromEntries(own.map(one => [nameOf(one.model), one['pass@1'] / 100]))
    return [{ id, family: 'contest', messages: [{ role: 'user', content }], y }]
  })
}

/** `O1-Mini-2024-09-12 (N=1)` is `o1-mini-2024-09-12`. */
function nameOf (model: string): string {
  const plain = model.toLowerCase().replace(/ \(n=1\)$/, '')
  return names[plain] ?? plain
}
