import type { UsageRow } from '../../../schemas/admin/usage.ts'
import type { Received } from '../api/received.ts'
import type { Series } from '../parts/chart.tsx'

export type Usage = Received<UsageRow>

const dayMs = 86_400_000
const shown = 5

interface Period {
  from: string
  to: string
}

/** The last `days` days in UTC up to the end of today, and as many days before them. */
export function periodsOf (days: number, today: Date): { now: Period, before: Period } {
  const end = Math.ceil((today.getTime() + 1) / dayMs) * dayMs
  const from = end - days * dayMs
  return {
    now: { from: dateOf(from), to: dateOf(end) },
    before: { from: dateOf(from - days * dayMs), to: dateOf(from) }
  }
}

function dateOf (ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Every day of a period, e.g. `2026-11-21`. */
export function daysOf ({ from, to }: Period): readonly string[] {
  const days: string[] = []
  for (let ms = Date.parse(from); ms < Date.parse(to); ms += dayMs) days.push(dateOf(ms))
  return days
}

/**
 * Nano-dollars by day for the values that cost most; the others are one series. What has no value is
 * called `noName`.
 */
export function seriesOf (
  rows: readonly Usage[], by: 'model' | 'key' | 'account' | 'provider', days: readonly string[], noName: string
): readonly Series[] {
  const byName = new Map<string, number[]>()
  for (const row of rows) {
    const name = row[by] ?? noName
    const values = byName.get(name) ?? days.map(() => 0)
    const position = days.indexOf(row.day ?? '')
    if (position !== -1) values[position] = (values[position] ?? 0) + Number(row.cost_nano)
    byName.set(name, values)
  }
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
  const all = [...byName].map(([name, values]) => ({ name, values }))
  const sorted = all.sort((a, b) => sum(b.values) - sum(a.values))
  const rest = sorted.slice(shown)
  if (rest.length === 0) return sorted
  const others = days.map((_day, index) => sum(rest.map(({ values }) => values[index] ?? 0)))
  return [...sorted.slice(0, shown), { name: `${rest.length} more`, values: others }]
}

/** How a figure compares with that of the period before, in words. */
export function change (now: number, before: number): string {
  if (before === 0) return now === 0 ? '' : 'nothing in the period before'
  if (now >= before * 10) return `${Math.round(now / before).toLocaleString('en-US')} times the period before`
  const percent = (now / before - 1) * 100
  if (Math.abs(percent) < 0.5) return 'as in the period before'
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent).toFixed(0)} % on the period before`
}

/** What all rows come to. */
export interface Total {
  costNano: bigint
  savedNano: bigint
  requests: number
  promptTokens: number
  completionTokens: number
}

/** The sum of rows. */
export function totalOf (rows: readonly Usage[]): Total {
  return rows.reduce((total, row) => ({
    costNano: total.costNano + row.cost_nano,
    savedNano: total.savedNano + row.saved_nano,
    requests: total.requests + row.requests,
    promptTokens: total.promptTokens + row.prompt_tokens,
    completionTokens: total.completionTokens + row.completion_tokens
  }), { costNano: 0n, savedNano: 0n, requests: 0, promptTokens: 0, completionTokens: 0 })
}
