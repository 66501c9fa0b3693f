import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const sources = globSync('{plugins,routes,schemas,services,cli,bin,tools}/**/*.ts', { cwd: root })

/** What a folder may import from, besides itself and packages. */
const allowed: Record<string, string[]> = {
  schemas: [],
  services: ['schemas'],
  plugins: ['services', 'schemas'],
  // Routes reach plugins only through decorators.
  routes: ['services', 'schemas'],
  cli: ['services', 'schemas'],
  bin: ['cli', 'services', 'schemas', 'fastify.config.ts'],
  tools: ['services', 'schemas', 'fastify.config.ts', 'test', 'bench']
}

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

function importsOf (file: string): string[] {
  return [...textOf(file).matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(match => match[1] ?? '')
}

t.test('imports go one way: fastify.config → plugins, routes → services → schemas', async t => {
  t.ok(sources.length > 50)
  const wrong = sources.flatMap(file => {
    const [folder = ''] = file.split('/')
    return importsOf(file).filter(name => name.startsWith('.')).filter(name => {
      const [target = ''] = relative(root, join(root, dirname(file), name)).split('/')
      return target !== folder && !allowed[folder]?.includes(target)
    }).map(name => `${file} imports ${name}`)
  })
  t.same(wrong, [])
})

t.test('services know nothing of Fastify, and schemas of nothing but TypeBox', async t => {
  const wrong = sources.filter(file => {
    const packages = importsOf(file).filter(name => !name.startsWith('.') && !name.startsWith('node:'))
    if (file.startsWith('services/')) return packages.some(name => name.includes('fastify'))
    return file.startsWith('schemas/') && packages.some(name => name !== '@sinclair/typebox')
  })
  t.same(wrong, [])
})

t.test('only the composition root reads the environment', async t => {
  const others = sources.filter(file => !/^(bin|tools)\//.test(file))
  t.same(others.filter(file => textOf(file).includes('process.env')), [])
})

t.test('core code names no provider', async t => {
  const core = sources.filter(file => !/^(services\/(providers|config|catalogue)|tools|cli)\//.test(file) && !file.startsWith('schemas/config'))
  t.same(core.filter(file => /['"`](groq|mistral|anthropic|gemini|openrouter|deepseek)/.test(textOf(file))), [])
})
