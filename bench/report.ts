import type { Measurement } from './measure.ts'
import type { Estimate, Spread } from './statistics.ts'

/** How far a ratio may be above its target before `--check` fails: a shared machine is not more exact. */
export const noiseMargin = 0.1

/** Whether a ratio is above its target by more than noise explains. */
export function isTooSlow (
  { subject, ratio, targetRatio, extra, targetExtra, mostUs }: Measurement
): boolean {
  if (mostUs !== undefined) return subject.middle > mostUs * (1 + noiseMargin)
  if (extra !== undefined && targetExtra !== undefined) return extra.value > targetExtra * (1 + noiseMargin)
  return ratio !== null && targetRatio !== null && ratio.middle > targetRatio * (1 + noiseMargin)
}

/** The measurements as a table, one per line. */
export function report (measurements: readonly Measurement[], subject: string): string {
  const rows = [
    ['', '', 'bare', subject, 'ratio', 'target'],
    ...measurements.map(({ title, unit, bare, subject, ratio, extra, ...targets }) => [
      title,
      unit,
      shown(bare),
      shown(subject),
      extra !== undefined ? extraText(extra) : ratio === null ? '' : shown(ratio, 2),
      targetText(targets)
    ])
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = rows.map((row) => row.map((cell, column) => {
    const width = widths[column] ?? 0
    return column < 2 ? cell.padEnd(width) : cell.padStart(width)
  }).join('  ').trimEnd())
  const percent = Math.round(noiseMargin * 100)
  const note = `Medians of paired rounds, of billed requests all rounds together (lowest–highest, ± standard error). --check fails above target + ${percent} %.`
  return [...lines, '', note].join('\n')
}

type Targets = Pick<Measurement, 'targetRatio' | 'targetExtra' | 'mostUs'>

function targetText ({ targetRatio, targetExtra, mostUs }: Targets): string {
  if (mostUs !== undefined) return `≤ ${mostUs} µs`
  if (targetExtra !== undefined) return `≤ +${targetExtra.toFixed(1)}`
  return targetRatio === null ? '' : `≤ ${targetRatio}`
}

function extraText ({ value, error }: Estimate): string {
  return `+${value.toFixed(1)} ± ${error.toFixed(1)}`
}

function shown ({ middle, min, max }: Spread, decimals = middle < 10 ? 2 : 0): string {
  const [at, low, high] = [middle, min, max].map((value) => value.toFixed(decimals))
  return `${at} (${low}–${high})`
}
