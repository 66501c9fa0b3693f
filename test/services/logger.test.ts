import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'

/** A process that logs so many lines of 1 KB at once and ends. */
function startWith (lines: number) {
  const program = `
    import { createLogger } from '${new URL('../../services/logger.ts', import.meta.url)}'
    process.stdout.write('-')
    const logger = await createLogger('info')
    for (let line = 0; line < ${lines}; line++) logger.info('x'.repeat(1000))
    process.exit(0)`
  return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
}

t.test('a reader that takes nothing keeps no process from ending', async t => {
  const [code] = await once(startWith(30_000), 'exit')
  t.equal(code, 0)
})

t.test('a reader gets all that was written before the end', async t => {
  const child = startWith(500)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', piece => { text += piece })
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  t.equal(text.split('\n').length, 501)
})
