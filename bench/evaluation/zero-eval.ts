import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TrainingRow } from '../../tools/routing/data.ts'

/** An answer of a model, as WildEval/ZeroEval keeps it in `result_dirs/gsm/<model>.json`. */
interface Answered { id: string, question: string, answer: string, output: string[] }

/**
 * Reads the grade-school mathematics (GSM8K) of a checkout of WildEval/ZeroEval: a row per question, without
 * the template around it, with 1 for each model that gave the right number. It is for measuring alone.
 */
export function readGradeSchool (folder: string): TrainingRow[] {
  const results = join(folder, 'result_dirs', 'gsm')
  const rows = new Map<string, TrainingRow>()
  for (const file of readdirSync(results).filter(name => name.endsWith('.json'))) {
    const model = file.slice(0, -'.json'.length).toLowerCase()
    const answers: Answered[] = JSON.parse(readFileSync(join(results, file), 'utf8'))
    for (const { id, question, answer, output: [text = ''] } of answers) {
      const row = rows.get(id) ?? { id, family: 'gsm', messages: [{ role: 'user', content: question }], y: {} }
      row.y[model] = answerIn(text) === numberIn(answer) ? 1 : 0
      rows.set(id, row)
    }
  }
  return [...rows.values()]
}

/** The number in the last `answer` of a JSON text, which may be cut off or broken. */
export function answerIn (text: string): number | null {
  const found = [...text.matchAll(/"answer"\s*:\s*"?([^"\n}]*)/g)].at(-1)
  return numberIn(found?.[1] ?? '')
}

function numberIn (text: string): number | null {
  const found = /-?\d+(\.\d+)?/.exec(text.replaceAll(/[$,]/g, ''))
  return found === null ? null : Number(found[0])
}
