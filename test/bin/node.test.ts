import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { withoutHooks } from '../helpers/process.ts'
import { oldNodes } from './old-nodes.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'node.js')

type Child = ChildProcessByStdio<Writable, Readable, Readable>

function launch (t: Test, node: string[], ...args: string[]): Child {
  const child = spawn(...withoutHooks(process.execPath, ...node, launcher, ...args), { stdio: 'pipe' })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

for (const node of [[], ...oldNodes]) {
  t.test(`the launcher in ${/\d+/.exec(node.join())?.[0] ?? 'a new'} Node`, async t => {
    t.test('runs a program, and what that starts as node, in the project\'s own Node', async t => {
      const program = `import { execFileSync } from 'node:child_process'
        const child = execFileSync('node', ['-p', 'process.execPath'], { encoding: 'utf8' }).trim()
        console.log(JSON.stringify({ own: process.execPath, child, args: process.argv.slice(1), path: process.env.PATH }))`
      const { stdout } = launch(t, node, '--input-type=module', '--eval', program, '--', '--one', 'two words')
      const { own, child, args, path } = JSON.parse(await text(stdout))
      t.equal(own, process.execPath)
      t.equal(child, own)
      t.same(args, ['--one', 'two words'])
      t.equal(path, `${dirname(own)}:${process.env['PATH']}`)
    })

    t.test('limits the arenas of malloc, unless they are set', async t => {
      const print = ['--print', 'process.env.MALLOC_ARENA_MAX']
      const given = process.env['MALLOC_ARENA_MAX']
      t.teardown(() => {
        if (given === undefined) delete process.env['MALLOC_ARENA_MAX']
        else process.env['MALLOC_ARENA_MAX'] = given
      })
      delete process.env['MALLOC_ARENA_MAX']
      t.equal(await text(launch(t, node, ...print).stdout), '2\n')
      process.env['MALLOC_ARENA_MAX'] = '5'
      t.equal(await text(launch(t, node, ...print).stdout), '5\n')
    })

    t.test('passes on input, output and the exit code', async t => {
      const child = launch(t, node, '--eval', 'process.exitCode = 7; process.stdin.pipe(process.stderr)')
      child.stdin.end('a line\n')
      const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
      t.equal(err, 'a line\n')
      t.equal(code, 7)
    })

    t.test('delivers each signal once', async t => {
      const child = launch(t, node, '--eval', `for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
          process.on(signal, () => console.log(signal))
        }
        process.stdin.on('end', () => process.exit()).resume()
        console.log('ready')`)
      const lines: string[] = []
      child.stdout.setEncoding('utf8').on('data', (data: string) => lines.push(...data.trim().split('\n')))
      const printed = async (line: string) => { while (!lines.includes(line)) await once(child.stdout, 'data') }
      await printed('ready')
      for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
        child.kill(signal)
        await printed(signal)
      }
      child.stdin.end()
      t.same(await once(child, 'close'), [0, null])
      t.same(lines, ['ready', 'SIGTERM', 'SIGHUP', 'SIGINT'])
    })

    t.test('ends by the signal that ends the program', async t => {
      const child = launch(t, node, '--eval', 'setInterval(() => {}, 1000); console.log()')
      await once(child.stdout, 'data')
      child.kill('SIGTERM')
      t.same(await once(child, 'exit'), [null, 'SIGTERM'])
    })
  })
}
