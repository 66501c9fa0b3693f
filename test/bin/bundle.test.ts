import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { addressOf, spawnGateway, withoutHooks } from '../helpers/process.ts'

const root = join(import.meta.dirname, '..', '..')

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Runs a module in the project's Node; returns what it prints. */
function run (module: string): string {
  const [node, args] = withoutHooks(process.execPath, '--input-type=module', '--eval', module)
  return execFileSync(node, args, { encoding: 'utf8' }).trim()
}

t.test('a bundle is used while its inputs have the content that it was made from', async t => {
  const folder = t.testdir({ bin: {}, node_modules: { '.cache': { bundle: {} } }, 'a.ts': 'export const a = 1\n' })
  cpSync(join(root, 'bin', 'bundled.js'), join(folder, 'bin', 'bundled.js'))
  const url = pathToFileURL(join(folder, 'bin', 'bundled.js')).href
  const { bundled, bundleFolder, digestOf, stampOf }: typeof import('../../bin/bundled.js') = await import(url)
  t.equal(bundled('serve'), null, 'none is made')

  const input = join(folder, 'a.ts')
  // So that only the time of the last change tells a later edit with the same time of modification.
  utimesSync(input, new Date(0), new Date(0))
  const { ctimeMs } = statSync(input)
  const list = { inputs: ['a.ts'], stamp: stampOf(['a.ts']), digest: digestOf(['a.ts']) }
  const write = (list: object) => writeFileSync(join(bundleFolder, 'inputs.json'), JSON.stringify(list))
  write({ ...list, digest: '' })
  t.equal(bundled('serve'), pathToFileURL(join(bundleFolder, 'serve.mjs')).href, 'the content is not read')
  write({ ...list, stamp: null })
  t.not(bundled('serve'), null, 'the content alone decides')
  write(list)

  do {
    writeFileSync(input, 'export const a = 2\n')
    utimesSync(input, new Date(0), new Date(0))
  } while (statSync(input).ctimeMs === ctimeMs)
  t.equal(bundled('serve'), null, 'an input has changed, but not its size and time of modification')
  writeFileSync(input, 'export const a = 1\n')
  t.not(bundled('serve'), null, 'the change is undone')
  rmSync(input)
  t.equal(bundled('serve'), null, 'an input is gone')
  mkdirSync(input)
  t.throws(() => bundled('serve'), { code: 'EISDIR' })
  writeFileSync(join(bundleFolder, 'inputs.json'), '{"inputs":["a')
  t.equal(bundled('serve'), null, 'the list is cut off')
})

t.test('the bundle', async t => {
  const load = `const { bundled } = await import('${pathToFileURL(join(root, 'bin', 'bundled.js')).href}')`
  // Gateways of other tests run from one that is up to date.
  if (run(`${load}\nconsole.log(bundled('serve'))`) === 'null') execFileSync(process.execPath, [join(root, 'bin', 'bundle.ts')])

  t.test('is made of what the image has too', async t => {
    const { inputs }: { inputs: string[] } = JSON.parse(read('node_modules/.cache/bundle/inputs.json'))
    const packages: Record<string, { dev?: boolean }> = JSON.parse(read('package-lock.json')).packages
    const given = read('.dockerignore').split('\n').filter(line => line.startsWith('!')).map(line => line.slice(1))
    const isInImage = (file: string): boolean => {
      const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file) ?? []
      if (folder !== undefined) return packages[folder] !== undefined && packages[folder].dev !== true
      return given.some(name => file === name || file.startsWith(`${name}/`))
    }
    t.ok(inputs.length > 1000)
    t.same(inputs.filter(file => !isInImage(file)), [])
  })

  t.test('serves, from a tenth of the files', async t => {
    const counter = `import { registerHooks } from 'node:module'
      let files = 0
      registerHooks({ load: (url, context, next) => { files += url.startsWith('file:') ? 1 : 0; return next(url, context) } })
      process.on('exit', () => console.log('loaded', files))`
    const gateway = await spawnGateway(t, {}, {
      program: 'start.js', preload: `data:text/javascript,${encodeURIComponent(counter)}`
    })
    const { url, key } = await addressOf(gateway)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
    const answer = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
    t.equal(answer.status, 200, await answer.text())
    const { origin } = new URL(url)
    t.match(await (await fetch(`${origin}/openapi.json`)).json(), { openapi: /^3\.1/ })
    gateway.child.kill('SIGINT')
    t.equal(await gateway.exited, 0, gateway.output())
    const [, files] = /loaded (\d+)/.exec(gateway.output()) ?? []
    t.ok(Number(files) > 0 && Number(files) < 150, `${files} files`)
  })

  t.test('names the lines of the sources in stack traces', async t => {
    const stackOf = (program: string) => run(`${load}
      const { serve } = await import(${program})
      await serve({ PORT: 'none' }).catch(error => console.log(error.stack))`)
    const linesIn = (stack: string) => stack.match(/[\w-]+\.ts:\d+/g)
    const stack = stackOf("bundled('serve')")
    t.match(stack, /services\/config\/settings\/[\w-]+\.ts:\d+/)
    t.notMatch(stack, '.cache')
    t.same(linesIn(stack), linesIn(stackOf(`'${pathToFileURL(join(root, 'bin', 'serve.ts')).href}'`)))
  })

  t.test('has small source maps, because the first error of a process waits for Node to decode them', async t => {
    const folder = join(root, 'node_modules', '.cache', 'bundle')
    const bytes = readdirSync(folder).filter(name => name.endsWith('.map'))
      .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
    t.ok(bytes > 100_000 && bytes < 1_500_000, `${bytes} bytes`)
  })
})
