import type { Measurement } from './measure.ts'
import type { Estimate, Spread } from './statistics.ts'

/** Share by which a figure may exceed its target before `--check` fails: the noise of a shared machine. */
export const noiseMargin = 0.1

/** Whether a measurement exceeds its target by more than the noise. */
export function isTooSlow (
  { subject, ratio, targetRatio, extra, targetExtra, maxUs }: Measurement
): boolean {
  if (maxUs !== undefined) return subject.middle > maxUs * (1 + noiseMargin)
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
      formatSpread(bare),
      formatSpread(subject),
      extra !== undefined ? formatExtra(extra) : ratio === null ? '' : formatSpread(ratio, 2),
      formatTarget(targets)
    ])
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = rows.map((row) => row.map((cell, column) => {
    const width = widths[column] ?? 0
    return column < 2 ? cell.padEnd(width) : cell.padStart(width)
  }).join('  ').trimEnd())
  const percent = Math.round(noiseMargin * 100)
  const note = 'Medians of paired rounds, for billing over all rounds (lowest–highest, ± standard error). ' +
    `--check fails above target + ${percent} %.`
  return [...lines, '', note].join('\n')
}

type Targets = Pick<Measurement, 'targetRatio' | 'targetExtra' | 'maxUs'>

function formatTarget ({ targetRatio, targetExtra, maxUs }: Targets): string {
  if (maxUs !== undefined) return `≤ ${maxUs} µs`
  if (targetExtra !== undefined) return `≤ +${targetExtra.toFixed(1)}`
  return targetRatio === null ? '' : `≤ ${targetRatio}`
}

function formatExtra ({ value, error }: Estimate): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)} ± ${error.toFixed(1)}`
}

function formatSpread ({ middle, min, max }: Spread, decimals = middle < 10 ? 2 : 0): string {
  const [at, low, high] = [middle, min, max].map((value) => value.toFixed(decimals))
  return `${at} (${low}–${high})`
}
