import { existsSync, globSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { laneOf, lanes } from './lanes.ts'
import { testsOfLane } from './together.ts'

const tests = join(import.meta.dirname, '..')

t.test('each folder of a lane exists and is in no other', async t => {
  const folders = lanes.flat()
  t.same(folders.filter(folder => !existsSync(join(tests, folder, 'all.ts'))), [])
  t.equal(new Set(folders).size, folders.length)
})

t.test('each lane has a program, and there is none beyond', async t => {
  const programs = readdirSync(join(tests, 'setup', 'lanes'))
  t.strictSame(programs, lanes.map((_, index) => `${String(index + 1).padStart(2, '0')}.ts`))
})

t.test('the tests of a new folder run in the last lane, those with a command of their own in none', async t => {
  t.equal(laneOf('contract'), 1)
  t.equal(laneOf('services/not-there-yet'), lanes.length - 1)
  t.equal(laneOf('chaos'), null)
})

t.test('every test file but those with a command of their own is in exactly one lane', async t => {
  const files = globSync('**/*.test.ts', { cwd: tests }).filter(path => !/^(browser|chaos|console)\//.test(path)).sort()
  const run = lanes.flatMap((_, lane) => testsOfLane(lane)).map(path => relative(tests, path)).sort()
  t.strictSame(run, files)
})
