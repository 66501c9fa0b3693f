import type { budgetPeriods } from '../../schemas/admin/keys.ts'

/** How often a budget restarts: at midnight UTC of every day, every Monday, or the first of every month. */
export type Period = typeof budgetPeriods[number]

/** In milliseconds since 1970; `endsAt` is excluded. */
export interface PeriodSpan {
  /** As in ISO 8601, e.g. `2026-11-21`, `2026-W47` or `2026-11`. */
  name: string
  startsAt: number
  endsAt: number
}

const dayMs = 86_400_000

/** Returns the period in UTC that contains a time in milliseconds since 1970. */
export function periodAt (period: Period, at: number): PeriodSpan {
  return spans[period](at)
}

const spans: Record<Period, (at: number) => PeriodSpan> = {
  day (at) {
    const startsAt = Math.floor(at / dayMs) * dayMs
    return { name: dateOf(startsAt), startsAt, endsAt: startsAt + dayMs }
  },

  week (at) {
    const day = Math.floor(at / dayMs)
    // Day 0 of 1970 was a Thursday.
    const mondayAt = (day - modulo(day + 3, 7)) * dayMs
    // In ISO 8601 a week belongs to the year of its Thursday.
    const thursdayAt = mondayAt + 3 * dayMs
    const year = new Date(thursdayAt).getUTCFullYear()
    const week = Math.floor((thursdayAt - Date.UTC(year, 0)) / (7 * dayMs)) + 1
    const name = `${year}-W${String(week).padStart(2, '0')}`
    return { name, startsAt: mondayAt, endsAt: mondayAt + 7 * dayMs }
  },

  month (at) {
    const date = new Date(at)
    const year = date.getUTCFullYear()
    const month = date.getUTCMonth()
    const startsAt = Date.UTC(year, month)
    return { name: dateOf(startsAt).slice(0, 7), startsAt, endsAt: Date.UTC(year, month + 1) }
  }
}

function dateOf (at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

function modulo (value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor
}
