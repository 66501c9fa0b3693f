import t from 'tap'
import { isoTime, readIsoTime } from '../../../services/shared/iso-time.ts'

t.test('a date stands for its beginning in UTC, a time has its zone', async t => {
  t.equal(isoTime(readIsoTime('2026-11-21')), '2026-11-21T00:00:00.000Z')
  t.equal(isoTime(readIsoTime('2024-02-29')), '2024-02-29T00:00:00.000Z')
  t.equal(isoTime(readIsoTime('2026-11-21T07:30Z')), '2026-11-21T07:30:00.000Z')
  t.equal(isoTime(readIsoTime('2026-11-21T00:30:05.25+01:00')), '2026-11-20T23:30:05.250Z')
})

t.test('everything else is refused', async t => {
  const wrong = [
    '', '2026', '2026-11', '2026-13-01', '2026-02-30', '2026-11-31', '2025-02-29', '21.11.2026', '1763700000',
    '2026-11-21T07:30', '2026-11-21T25:00Z', '2026-02-30T12:00Z', '2026-11-21 07:30Z', '2026-11-21T07:30+99:00'
  ]
  for (const text of wrong) t.throws(() => readIsoTime(text), RangeError, text)
})
