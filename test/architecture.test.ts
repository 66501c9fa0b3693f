import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { importedFiles, importsOf } from '../tools/imports.ts'

const root = join(import.meta.dirname, '..')
const sources = globSync('{plugins,routes,schemas,services,cli,lib,bin,tools}/**/*.ts', { cwd: root })

/** What a top-level folder may import from, besides itself and packages. */
const layers: Record<string, string[]> = {
  schemas: [],
  services: ['schemas'],
  plugins: ['services', 'schemas'],
  // Routes reach plugins only through decorators.
  routes: ['services', 'schemas'],
  cli: ['services', 'schemas'],
  lib: ['services', 'schemas', 'fastify.config.ts'],
  bin: ['cli', 'services', 'schemas', 'fastify.config.ts'],
  tools: ['services', 'schemas', 'fastify.config.ts', 'test', 'bench']
}

/** What a folder of `services/` may import from, types included. A folder stands above those it names. */
const serviceFolders: Record<string, string[]> = {
  shared: [],
  store: ['shared'],
  media: ['store', 'shared'],
  config: ['media', 'shared'],
  providers: ['config', 'media', 'shared'],
  billing: ['config', 'providers', 'store', 'shared'],
  keys: ['billing', 'store', 'shared'],
  models: ['config', 'providers', 'store', 'shared'],
  routing: ['billing', 'config', 'shared'],
  extensions: ['config', 'providers', 'shared'],
  requests: ['billing', 'config', 'extensions', 'keys', 'models', 'providers', 'store', 'shared'],
  http: ['config', 'keys', 'media', 'store', 'shared'],
  chat: ['billing', 'config', 'extensions', 'providers', 'requests', 'routing', 'shared'],
  images: ['billing', 'config', 'extensions', 'http', 'media', 'providers', 'requests', 'store', 'shared'],
  videos: ['billing', 'config', 'extensions', 'http', 'media', 'models', 'providers', 'requests', 'store', 'shared'],
  apis: ['billing', 'chat', 'config', 'http', 'media', 'providers', 'requests', 'store', 'videos', 'shared'],
  operations: [
    'billing', 'config', 'http', 'keys', 'media', 'models', 'requests', 'store', 'videos', 'shared'
  ]
}

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

const importedBy = (file: string): string[] => importedFiles(root, file)

const serviceFolderOf = (file: string): string => file.split('/')[1] ?? ''

/** The first cycle of a graph, as the names along it; null if there is none. */
function cycleIn (targetsOf: (node: string) => Iterable<string>, nodes: Iterable<string>): string[] | null {
  const done = new Set<string>()
  function visit (node: string, path: string[]): string[] | null {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return null
    for (const target of targetsOf(node)) {
      const cycle = visit(target, [...path, node])
      if (cycle !== null) return cycle
    }
    done.add(node)
    return null
  }
  for (const node of nodes) {
    const cycle = visit(node, [])
    if (cycle !== null) return cycle
  }
  return null
}

t.test('imports go one way: fastify.config → plugins, routes → services → schemas', async t => {
  t.ok(sources.length > 50)
  const wrong = sources.flatMap(file => {
    const [folder = ''] = file.split('/')
    return importedBy(file).filter(target => {
      const [to = ''] = target.split('/')
      return to !== folder && to !== 'package.json' && !layers[folder]?.includes(to)
    }).map(target => `${file} imports ${target}`)
  })
  t.same(wrong, [])
})

t.test('a folder of services imports only folders that stand below it', async t => {
  const services = sources.filter(file => file.startsWith('services/'))
  t.same(services.filter(file => file.split('/').length < 3), [], 'no loose file')
  t.same(new Set(services.map(serviceFolderOf)), new Set(Object.keys(serviceFolders)))
  const wrong = services.flatMap(file => {
    const folder = serviceFolderOf(file)
    return importedBy(file).filter(target => {
      return target.startsWith('services/') && serviceFolderOf(target) !== folder &&
        !serviceFolders[folder]?.includes(serviceFolderOf(target))
    }).map(target => `${file} imports ${target}`)
  })
  t.same(wrong, [])
  t.equal(cycleIn(folder => serviceFolders[folder] ?? [], Object.keys(serviceFolders)), null, 'no cycle between folders')
})

t.test('services/README.md shows each folder with those below it', async t => {
  const rows = [...textOf('services/README.md').matchAll(/^\| `(.+)\/` \|.*\|(.*)\|$/gm)]
  t.same(Object.fromEntries(rows.map(([, folder = '', below = '']) => [folder, below.match(/[a-z]+/g) ?? []])),
    Object.fromEntries(Object.entries(serviceFolders).map(([folder, below]) => [folder, below.filter(name => name !== 'shared')])))
})

t.test('no two files import each other, not even through others', async t => {
  const files = [...sources, ...globSync('console/src/**/*.{ts,tsx}', { cwd: root })]
  const imports = new Map(files.map(file => [file, importedBy(file)]))
  t.equal(cycleIn(file => imports.get(file) ?? [], files), null)
})

t.test('an exported name is declared in one file', async t => {
  const filesOf = new Map<string, Set<string>>()
  // Apps import the names of `lib/`, beside their own.
  for (const file of sources.filter(file => !/^(?:tools|lib)\//.test(file))) {
    for (const [, name = ''] of textOf(file).matchAll(/^export (?:async )?(?:function\*?|class|interface|type|const) (\w+)/gm)) {
      filesOf.set(name, (filesOf.get(name) ?? new Set()).add(file))
    }
  }
  t.same([...filesOf].filter(([, files]) => files.size > 1).map(([name, files]) => [name, ...files]), [])
})

t.test('the console has of the gateway only the types of its schemas, how CSV is written and how money is read', async t => {
  const files = globSync('console/src/**/*.{ts,tsx}', { cwd: root })
  t.ok(files.length > 20)
  const wrong = files.flatMap(file => [...textOf(file).matchAll(/^import (type )?.*from '((?:\.\.\/)+\w+\/.*)'$/gm)]
    .filter(([, type, path = '']) => {
      const target = join(dirname(file), path)
      if (['services/shared/csv-field.ts', 'services/shared/money.ts'].includes(target)) return false
      return !target.startsWith('console/src/') && !(target.startsWith('schemas/') && type !== undefined)
    }).map(([line]) => `${file}: ${line}`))
  t.same(wrong, [])
})

t.test('services know nothing of Fastify, and schemas of nothing but TypeBox', async t => {
  const wrong = sources.filter(file => {
    const packages = importsOf(textOf(file)).filter(name => !name.startsWith('.') && !name.startsWith('node:'))
    // Its parser of forms is a library like any other.
    const isFastify = (name: string) => name.includes('fastify') && name !== '@fastify/busboy'
    if (file.startsWith('services/')) return packages.some(isFastify)
    return file.startsWith('schemas/') && packages.some(name => name !== '@sinclair/typebox')
  })
  t.same(wrong, [])
})

t.test('only the composition root reads the environment', async t => {
  const others = sources.filter(file => !/^(bin|tools)\//.test(file))
  t.same(others.filter(file => textOf(file).includes('process.env')), [])
})

t.test('what money depends on does not ask the clock of this machine', async t => {
  const folders = /^(routes|plugins\/(library|gateway)|services\/(billing|keys|requests\/joins|operations\/(reports|alerts|admin)))\//
  const asking = sources.filter(file => folders.test(file) && /\bDate\.now\b|new Date\(\)/.test(textOf(file)))
  t.same(asking, [])
})

t.test('core code names no provider', async t => {
  const core = sources.filter(file => !/^(services\/(providers|config)|schemas\/config|tools|cli)\//.test(file))
  // The headers of the Messages API, which many servers have, begin with a name.
  t.same(core.filter(file => /['"`](groq|mistral|anthropic(?!-version|-beta)|gemini|openrouter|deepseek)/.test(textOf(file))), [])
})

t.test('migrations are numbered without gaps', async t => {
  const files = globSync('services/store/migrations/*.sql', { cwd: root }).sort()
  t.same(files.map(file => Number(basename(file).slice(0, 3))), files.map((_, index) => index + 1))
})
