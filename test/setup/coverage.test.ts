import t from 'tap'
import { coverageReport } from './coverage.ts'

const counts = (covered: number, total = 100) => ({ covered, total })
const file = (lines: number, branches = lines) => {
  return { lines: counts(lines), branches: counts(branches), functions: counts(lines) }
}
const floor = { lines: 80, branches: 70, functions: 80 }

t.test('only files of the gateway count', async t => {
  const summary = { total: file(1), '/r/services/a.ts': file(90), '/r/test/b.ts': file(0), '/r/bench/c.ts': file(0) }
  const { text, isBelow } = coverageReport(summary, { lines: 90, branches: 90, functions: 90 }, '/r')
  t.notOk(isBelow)
  t.match(text, 'Coverage: 90.00 % of lines, 90.00 % of branches, 90.00 % of functions')
  t.notMatch(text, /raised|\.\.|bench/)
})

t.test('a file weighs as many lines as it has', async t => {
  const large = { ...file(0), lines: counts(0, 900) }
  const { text } = coverageReport({ '/r/cli/a.ts': file(100), '/r/cli/b.ts': large }, floor, '/r')
  t.match(text, 'Coverage: 10.00 % of lines')
})

t.test('a single kind below its floor fails', async t => {
  const { text, isBelow } = coverageReport({ '/r/routes/a.ts': file(80, 69) }, floor, '/r')
  t.ok(isBelow)
  t.match(text, 'The coverage of branches is below its floor of 70 %')
  t.notMatch(text, 'coverage of lines is below')
})

t.test('a floor that is too far below the coverage must be raised', async t => {
  const { text } = coverageReport({ '/r/plugins/a.ts': file(80.2, 71) }, floor, '/r')
  t.match(text, 'The floor of branches in test/coverage-floor.json can be raised from 70 to 70.7 %.')
  t.notMatch(text, 'floor of lines')
})

t.test('the ten least covered files are listed, the lowest first', async t => {
  const files = Array.from({ length: 12 }, (_, index) => [`/r/services/${index}.ts`, file(50 + index)])
  const { text } = coverageReport(Object.fromEntries(files), floor, '/r')
  const names = [...text.matchAll(/services\/(\d+)\.ts/g)].map(match => match[1])
  t.same(names, ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
})
