import { readFileSync } from 'node:fs'
import { globSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const sources = globSync('{plugins,routes,schemas,services,bin}/**/*.ts', { cwd: root })

/** What a folder may import from, besides itself and packages. */
const allowed: Record<string, string[]> = {
  schemas: [],
  services: ['schemas'],
  plugins: ['services', 'schemas'],
  // Routes reach plugins only through decorators.
  routes: ['services', 'schemas'],
  bin: ['services', 'schemas', 'fastify.config.ts']
}

function importsOf (file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(match => match[1] ?? '')
}

t.test('imports go one way: fastify.config → plugins, routes → services → schemas', async t => {
  t.ok(sources.length > 50)
  for (const file of sources) {
    const [folder = ''] = file.split('/')
    for (const name of importsOf(file).filter(name => name.startsWith('.'))) {
      const [target = ''] = relative(root, join(root, dirname(file), name)).split('/')
      t.ok(target === folder || allowed[folder]?.includes(target), `${file} imports ${name}`)
    }
  }
})

t.test('services know nothing of Fastify, and schemas of nothing but TypeBox', async t => {
  for (const file of sources) {
    const packages = importsOf(file).filter(name => !name.startsWith('.') && !name.startsWith('node:'))
    if (file.startsWith('services/')) t.notMatch(packages.join(' '), 'fastify', file)
    if (file.startsWith('schemas/')) t.ok(packages.every(name => name === '@sinclair/typebox'), file)
  }
})

t.test('only the composition root reads the environment', async t => {
  for (const file of sources.filter(file => !file.startsWith('bin/'))) {
    t.notMatch(readFileSync(join(root, file), 'utf8'), 'process.env', file)
  }
})

t.test('core code names no provider', async t => {
  const core = sources.filter(file => !/^services\/(providers|config)\//.test(file) && !file.startsWith('schemas/config'))
  for (const file of core) {
    t.notMatch(readFileSync(join(root, file), 'utf8'), /['"`](groq|mistral|anthropic|gemini|openrouter|deepseek)/, file)
  }
})
