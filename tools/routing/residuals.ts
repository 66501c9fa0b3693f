import type { Examples } from './examples.ts'
import { add } from './principal.ts'

/**
 * What is left of the scores of some rows: a line for each, a column for each model that answered any.
 * `noise` is the share of what single rows depart from their subjects by that is still in it.
 */
export interface Residuals { models: number[], lines: Float64Array[], noise: number }

/** Fewer are no subjects but parts of a data set. */
const fewestSubjects = 5
/** The mean of so many rows of a subject tells as much as one row itself. */
const halfTrusted = 60

/**
 * Takes the mean of each model off its scores. A missing score is taken to be as far off the mean as the
 * others of its row. Single answers are mostly chance, so where rows have subjects they are drawn to the
 * mean of theirs, and the more so the better it is known.
 */
export function residualsOf (examples: Examples, chosen: readonly number[]): Residuals {
  const { models, lines } = centredScores(examples, chosen)
  const bySubject = Map.groupBy(lines, (_, index) => examples.rows[chosen[index] as number]?.sub ?? '')
  if (bySubject.size < fewestSubjects) return { models, lines, noise: 1 }
  let kept = 0
  for (const group of bySubject.values()) kept += group.length * drawTogether(group)
  return { models, lines, noise: kept / lines.length }
}

/** Returns the share of each row's own departure that is kept. */
function drawTogether (lines: readonly Float64Array[]): number {
  const middle = new Float64Array(lines[0]?.length ?? 0)
  for (const line of lines) add(middle, line, 1 / lines.length)
  const own = halfTrusted / (lines.length + halfTrusted)
  for (const line of lines) {
    line.forEach((value, at) => { line[at] = own * value + (1 - own) * (middle[at] as number) })
  }
  return own
}

function centredScores ({ labelled, models }: Examples, rows: readonly number[]) {
  const sums = new Float64Array(models.length)
  const counts = new Float64Array(models.length)
  for (const row of rows) {
    labelled[row]?.model.forEach((model, at) => {
      sums[model] = (sums[model] as number) + (labelled[row]?.score[at] as number)
      counts[model] = (counts[model] as number) + 1
    })
  }
  const present = models.flatMap((_, model) => counts[model] === 0 ? [] : [model])
  const column = new Map(present.map((model, index) => [model, index]))
  const lines = rows.map(row => {
    const { model: answered, score } = labelled[row] as Examples['labelled'][number]
    const off = Float64Array.from(answered, (model, at) => {
      return (score[at] as number) - (sums[model] as number) / (counts[model] as number)
    })
    const usual = off.reduce((sum, one) => sum + one, 0) / off.length
    const line = new Float64Array(present.length).fill(usual)
    answered.forEach((model, at) => { line[column.get(model) as number] = off[at] as number })
    return line
  })
  return { models: present, lines }
}
