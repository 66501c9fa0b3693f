import t from 'tap'
import { readDateRange } from '../../../../services/operations/reports/period-costs.ts'
import type { GivenDates } from '../../../../services/operations/reports/period-costs.ts'
import { thrown } from '../../../helpers/thrown.ts'

const now = Date.parse('2026-11-21T07:30:00Z')

t.test('the range excludes its end, and by default has the last 100 days', async (t) => {
  const cases: [GivenDates, string, string][] = [
    [{ start_date: '2026-11-01', end_date: '2026-11-22' }, '2026-11-01', '2026-11-22'],
    [{ start_date: '2028-02-29', end_date: '2028-03-01' }, '2028-02-29', '2028-03-01'],
    [{ start_date: '2026-11-01' }, '2026-11-01', '2026-11-22'],
    [{ end_date: '2026-04-11' }, '2026-01-01', '2026-04-11'],
    [{}, '2026-08-14', '2026-11-22'],
    [{ end_date: '1970-01-03' }, '1970-01-01', '1970-01-03']
  ]
  for (const [given, from, to] of cases) {
    t.same(readDateRange(given, now), { from: Date.parse(from), to: Date.parse(to) }, JSON.stringify(given))
  }
})

t.test('a wrong date and a range of more than 100 days are refused with the field\'s name', async (t) => {
  const cases: [GivenDates, string][] = [
    [{ start_date: '2026-02-30' }, 'start_date'],
    [{ start_date: '' }, 'start_date'],
    [{ start_date: '21.11.2026' }, 'start_date'],
    [{ start_date: '2026-11-01T00:00:00Z' }, 'start_date'],
    [{ start_date: '1969-12-31', end_date: '1970-01-02' }, 'start_date'],
    [{ end_date: 'tomorrow' }, 'end_date'],
    [{ start_date: '2026-11-02', end_date: '2026-11-02' }, 'end_date'],
    [{ start_date: '2026-11-02', end_date: '2026-11-01' }, 'end_date'],
    [{ start_date: '2026-01-01', end_date: '2026-04-12' }, 'start_date']
  ]
  for (const [given, param] of cases) {
    const error = thrown(() => readDateRange(given, now))
    t.match(error, { status: 400, type: 'invalid_request_error', param, code: 'invalid_value' }, JSON.stringify(given))
    t.match(error, { message: new RegExp(`^Invalid '${param}': `) })
  }
})
