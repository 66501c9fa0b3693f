import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import { registerAll, type Registration } from '../../plugins/register-all.ts'

const root = join(import.meta.dirname, '..', '..')
const files = globSync('plugins/*/*.ts', { cwd: root }).filter(file => basename(file) !== 'index.ts').sort()

/** The code of a plugin without its comments and its declarations of types. */
function codeOf (file: string): string {
  return readFileSync(join(root, file), 'utf8')
    .replace(/\/\*[^]*?\*\/|\/\/.*/g, '')
    .replace(/declare module [^]*?\n}\n/g, '')
}

const owner = /(?:app|scope|server|request|reply|this)/.source

/** What a plugin uses of the server, a request or a reply, e.g. `app.name` or `const { name } = app`. */
function readsOf (code: string): Set<string> {
  const names = [...code.matchAll(new RegExp(`\\b(?:${owner}\\??\\.)+(\\w+)`, 'g'))].map(([, name = '']) => name)
  const patterns = new RegExp(`\\}\\s*(?:=\\s*(?:\\w+\\.)*${owner}\\b|:\\s*Fastify(?:Instance|Request|Reply)\\b)`, 'g')
  for (const { index } of code.matchAll(patterns)) names.push(...patternBefore(code, index).match(/\w+/g) ?? [])
  for (const [, written = ''] of code.matchAll(new RegExp(`Object\\.assign\\(${owner}, \\{([^}]*)`, 'g'))) {
    names.push(...written.match(/\w+/g) ?? [])
  }
  return new Set(names)
}

/** The text between the brace at `end` and the one that opens it. */
function patternBefore (code: string, end: number): string {
  let depth = 0
  for (let at = end; at >= 0; at--) {
    if (code[at] === '}') depth++
    if (code[at] === '{' && --depth === 0) return code.slice(at + 1, end)
  }
  return ''
}

const plugins = await Promise.all(files.map(async file => {
  const code = codeOf(file)
  const plugin = (await import(join(root, file))).default
  const { name, dependencies = [] } = plugin[Symbol.for('plugin-meta')] as { name: string, dependencies?: string[] }
  const offers = [...code.matchAll(/\.decorate(?:Request|Reply)?\('(\w+)'/g)].map(([, name = '']) => name)
  return { file, name, dependencies, offers, reads: readsOf(code) }
}))

t.test('a plugin is called as its file', async t => {
  t.ok(plugins.length > 25)
  for (const { file, name } of plugins) t.equal(name, basename(file, '.ts'))
})

/** Dependencies whose hooks come first: refusals, preflights, the summary; the drain before the ledger. */
const hookOrder: Record<string, string[]> = {
  'http-rules': ['errors'], cors: ['http-rules'], 'request-summary': ['cors'], ledger: ['graceful-close']
}

t.test('a plugin declares those whose decorators it reads or whose hooks come first, and no others', async t => {
  for (const { name, dependencies, offers, reads } of plugins) {
    const needed = plugins.filter(other => {
      return other.name !== name && other.offers.some(offer => reads.has(offer) && !offers.includes(offer))
    })
    const first = [...needed.map(other => other.name), ...hookOrder[name] ?? []]
    t.same([...dependencies].sort(), first.sort(), name)
  }
})

t.test('plugins are registered after their dependencies, whatever the order of the list', async t => {
  const order = async (registrations: Registration[]): Promise<string[]> => {
    const registered: string[] = []
    const app = Fastify()
    const register = (name: string) => async (): Promise<void> => { registered.push(name) }
    await registerAll(app, registrations.map(one => ({ ...one, register: register(one.name) })))
    return registered
  }
  const list = plugins.map(({ name, dependencies }) => ({ name, dependencies, register: async () => {} }))
  for (const one of [list, list.toReversed()]) {
    const names = await order(one)
    t.equal(names.length, list.length)
    for (const { name, dependencies } of list) {
      const late = dependencies.filter(dependency => names.indexOf(dependency) > names.indexOf(name))
      t.same(late, [], name)
    }
  }
})

t.test('no decorator is offered twice', async t => {
  const offers = plugins.flatMap(({ offers }) => [...new Set(offers)])
  t.equal(new Set(offers).size, offers.length)
})
