import fc from 'fast-check'
import t from 'tap'
import { budgetPeriods } from '../../../schemas/admin/keys.ts'
import { periodAt } from '../../../services/keys/periods.ts'
import type { Period } from '../../../services/keys/periods.ts'

const at = (text: string) => Date.parse(text)

const times: [Period, string, string, string, string][] = [
  ['day', '2026-11-21T07:30:00Z', '2026-11-21', '2026-11-21', '2026-11-22'],
  ['day', '2026-11-21T23:59:59.999Z', '2026-11-21', '2026-11-21', '2026-11-22'],
  ['day', '2028-02-29T12:00:00Z', '2028-02-29', '2028-02-29', '2028-03-01'],
  ['week', '2026-11-21T07:30:00Z', '2026-W47', '2026-11-16', '2026-11-23'],
  ['week', '2026-11-16T00:00:00Z', '2026-W47', '2026-11-16', '2026-11-23'],
  ['week', '2026-11-15T23:59:59.999Z', '2026-W46', '2026-11-09', '2026-11-16'],
  ['week', '2027-01-01T00:00:00Z', '2026-W53', '2026-12-28', '2027-01-04'],
  ['week', '2024-12-30T00:00:00Z', '2025-W01', '2024-12-30', '2025-01-06'],
  ['week', '1970-01-01T00:00:00Z', '1970-W01', '1969-12-29', '1970-01-05'],
  ['month', '2026-12-31T23:59:59.999Z', '2026-12', '2026-12-01', '2027-01-01'],
  ['month', '2028-02-29T12:00:00Z', '2028-02', '2028-02-01', '2028-03-01'],
  ['month', '2100-02-28T12:00:00Z', '2100-02', '2100-02-01', '2100-03-01']
]

t.test('a time belongs to a calendar day, week and month in UTC', async (t) => {
  for (const [period, time, name, start, end] of times) {
    t.same(periodAt(period, at(time)), { name, startsAt: at(start), endsAt: at(end) }, `${period} of ${time}`)
  }
})

const time = fc.integer({ min: 0, max: at('2200-01-01') })
const period = fc.constantFrom(...budgetPeriods)

t.test('periods follow each other without a gap, each with its own name', async () => {
  fc.assert(fc.property(period, time, (period, now) => {
    const { name, startsAt, endsAt } = periodAt(period, now)
    const isWithin = startsAt <= now && now < endsAt
    const isSame = [startsAt, endsAt - 1].every((other) => periodAt(period, other).name === name)
    const next = periodAt(period, endsAt)
    return isWithin && isSame && next.startsAt === endsAt && next.name > name
  }), { numRuns: 2_000 })
})

t.test('a week starts on Monday, has seven days, and belongs to the year of its Thursday', async () => {
  fc.assert(fc.property(time, (now) => {
    const { name, startsAt, endsAt } = periodAt('week', now)
    const thursday = new Date(startsAt + 3 * 86_400_000)
    return new Date(startsAt).getUTCDay() === 1 && endsAt - startsAt === 7 * 86_400_000 &&
      name.startsWith(`${thursday.getUTCFullYear()}-W`)
  }))
})

t.test('a month begins on its first day', async () => {
  fc.assert(fc.property(time, (now) => {
    const { name, startsAt } = periodAt('month', now)
    return new Date(startsAt).toISOString() === `${name}-01T00:00:00.000Z` &&
      new Date(now).toISOString().startsWith(name)
  }))
})
