import type { Examples } from './examples.ts'
import { add } from './principal.ts'

/**
 * Scores minus the mean of their model: a line for each row, a column for each model that answered any.
 * `noise` is the share of each row's deviation from its subject that was kept.
 */
export interface Residuals { models: number[], lines: Float64Array[], noise: number }

/** With fewer values, `sub` names parts of a data set and not subjects. */
const minSubjects = 5
/** Rows of a subject at which its mean weighs as much as a row's own score. */
const equalWeightRows = 60

/**
 * Subtracts the mean of each model from its scores, and imputes missing scores with the mean of their row. A
 * single answer is mostly noise, so rows with subjects are shrunk to the mean of their subject, the more the
 * larger it is.
 */
export function residualsOf (examples: Examples, chosen: readonly number[]): Residuals {
  const { models, lines } = centredScores(examples, chosen)
  const bySubject = Map.groupBy(lines, (_, index) => examples.rows[chosen[index] as number]?.sub ?? '')
  if (bySubject.size < minSubjects) return { models, lines, noise: 1 }
  let kept = 0
  for (const group of bySubject.values()) kept += group.length * shrinkToMean(group)
  return { models, lines, noise: kept / lines.length }
}

/** Returns the share of each row's deviation that was kept. */
function shrinkToMean (lines: readonly Float64Array[]): number {
  const subjectMean = new Float64Array(lines[0]?.length ?? 0)
  for (const line of lines) add(subjectMean, line, 1 / lines.length)
  const own = equalWeightRows / (lines.length + equalWeightRows)
  for (const line of lines) {
    line.forEach((value, at) => { line[at] = own * value + (1 - own) * (subjectMean[at] as number) })
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
    const deviations = Float64Array.from(answered, (model, at) => {
      return (score[at] as number) - (sums[model] as number) / (counts[model] as number)
    })
    const average = deviations.reduce((sum, one) => sum + one, 0) / deviations.length
    const line = new Float64Array(present.length).fill(average)
    answered.forEach((model, at) => { line[column.get(model) as number] = deviations[at] as number })
    return line
  })
  return { models: present, lines }
}
