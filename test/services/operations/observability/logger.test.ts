import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import pino, { type Logger } from 'pino'
import t from 'tap'
import { readableLine } from '../../../../services/operations/observability/readable-line.ts'

/** A process that does something with a `logger` and ends. */
function startWith (work: string) {
  const program = `
    import { createLogger } from '${new URL('../../../../services/operations/observability/logger.ts', import.meta.url)}'
    process.stdout.write('-')
    const logger = await createLogger('info')
    ${work}
    process.exit(0)`
  return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Logs so many lines of 1 KB at once. */
const linesOf1KB = (count: number) => `for (let line = 0; line < ${count}; line++) logger.info('x'.repeat(1000))`

t.test('a reader that takes nothing keeps no process from ending', async t => {
  const [code] = await once(startWith(linesOf1KB(30_000)), 'exit')
  t.equal(code, 0)
})

t.test('nor does one that is gone', async t => {
  const child = startWith(`
    await new Promise(resolve => setTimeout(resolve, 50))
    logger.info('nobody reads this')`)
  await once(child.stdout, 'data')
  child.stdout.destroy()
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  const [code] = await once(child, 'exit')
  clearTimeout(timer)
  t.equal(code, 0)
})

t.test('a reader gets all that was written before the end', async t => {
  const child = startWith(linesOf1KB(500))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  t.equal(code, 0)
  t.equal(output.split('\n').length, 501)
})

function logAllKinds (logger: Logger): void {
  const circular: Record<string, unknown> = { a: 1 }
  circular.itself = circular
  logger.info({ id: 'x', none: NaN, absent: undefined, 'q"': 'a"\n', at: new Date(0), deep: [1, null] }, '"%d"', 3)
  for (const values of [null, {}, { absent: undefined }, { toJSON: () => 'text' }, circular, { big: 1n }]) {
    logger.info(values, 'message')
  }
  logger.info('no values')
  logger.info({ a: 1 })
  logger.error({ err: new RangeError('bad'), a: 1 }, 'failed')
  logger.child({ part: 1 }).warn({ a: 1 }, 'of a child')
}

t.test('lines are what pino writes', async t => {
  let expected = '-'
  logAllKinds(pino({ base: null }, { write: line => { expected += line } }))
  const output = await text(startWith(`const work = ${logAllKinds}; work(logger)`).stdout)
  const comparable = (lines: string) => lines.replace(/"time":\d+/g, '').replace(/"stack":".*?[^\\]"/g, '').split('\n')
  t.ok(comparable(output).length > 10)
  t.same(comparable(output), comparable(expected))
})

t.test('at a terminal, a line is one that people read', async t => {
  const written: string[] = []
  const write = (line: string): void => { written.push(stripVTControlCharacters(readableLine(line))) }
  const logger = pino({ base: null }, { write })
  logger.info({ reqId: 'req_1', status: 200 }, 'request')
  logger.warn('no fields')
  logger.error({ err: new RangeError('bad'), a: 1 }, 'failed')
  const time = String.raw`^\[\d\d:\d\d:\d\d\.\d{3}\] `
  t.match(written[0], new RegExp(`${time}INFO  request \\{"reqId":"req_1","status":200\\}\n$`))
  t.match(written[1], new RegExp(`${time}WARN  no fields\n$`))
  t.match(written[2], new RegExp(`${time}ERROR failed \\{"a":1,"type":"RangeError"\\}\n    RangeError: bad\n        at `))
  t.match(stripVTControlCharacters(readableLine('no JSON\n')), / no JSON\n$/)
})
