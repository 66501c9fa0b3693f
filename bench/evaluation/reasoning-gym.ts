import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TrainingRow } from '../../tools/routing/data.ts'
import { mean } from '../statistics.ts'
import type { ModelPair } from './tables.ts'

/** A task of one model, as open-thought/reasoning-gym-eval keeps it. */
interface Task { results: { question: string, completions: { score: number | null }[] }[] }

/** A pair far apart, one of different makers that are close, and one of one maker. */
export const gymPairs: readonly ModelPair[] = [
  ['deepseek-r1', 'llama-3.3-70b-instruct'],
  ['o3-mini', 'claude-3-5-sonnet'],
  ['llama-4-maverick', 'llama-4-scout']
].map(([strong = '', weak = '']) => ({ id: 'gym', family: 'gym', strong, weak }))

/**
 * Reads the zero-shot runs of a checkout of open-thought/reasoning-gym-eval: a row per question, with the
 * mean score, 0 to 1, of each model's answers. It is for measuring alone.
 */
export function readReasoningGym (folder: string): TrainingRow[] {
  const rows = new Map<string, TrainingRow>()
  const runs = join(folder, 'reasoninggym-paper-experiments', 'zero-shot')
  for (const file of globSync('*/*/*/*.json', { cwd: runs }).toSorted()) {
    const [, run = '', category = '', name = ''] = file.replaceAll('\\', '/').split('/')
    const model = modelOf(run)
    const { results }: Task = JSON.parse(readFileSync(join(runs, file), 'utf8'))
    for (const { question, completions } of results) {
      const scores = completions.flatMap(({ score }) => score === null ? [] : [bounded(score)])
      if (scores.length === 0) continue
      const sub = `${category}/${name.slice(0, -'.json'.length)}`
      const id = `${sub}/${question}`
      const row: TrainingRow = rows.get(id) ?? {
        id, family: 'gym', sub, messages: [{ role: 'user', content: question }], y: {}
      }
      row.y[model] = mean(scores)
      rows.set(id, row)
    }
  }
  return [...rows.values()]
}

/** The model of a run: `anthropic_claude-3.5-sonnet_20250315_163713` is `claude-3-5-sonnet`. */
function modelOf (run: string): string {
  const [, model = ''] = /^[^_]*_(.*)_\d{8}_\d{6}$/.exec(run.toLowerCase()) ?? []
  return model.replace('claude-3.5', 'claude-3-5')
}

/** A few scores are above 1. */
function bounded (score: number): number {
  return Math.max(0, Math.min(1, score))
}
