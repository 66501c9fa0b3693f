import type { Examples } from './examples.ts'

/** What is left of the scores of some rows: a line for each, a column for each model that answered any. */
export interface Residuals { models: number[], lines: Float64Array[] }

/**
 * Takes the mean of each model off its scores. A missing score is taken to be as far off the mean as the
 * others of its row.
 */
export function residualsOf ({ labelled, models }: Examples, rows: readonly number[]): Residuals {
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
