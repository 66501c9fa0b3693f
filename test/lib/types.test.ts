import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { declarations } from '../../tools/declarations.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('the declared types name nothing beside each other and the packages of an app', async t => {
  const files = declarations()
  t.ok(['index', 'testing', 'gateway-file'].every(name => files.has(`lib/${name}.d.mts`)))
  for (const [name, text] of files) {
    t.notMatch(text.replace(/\/\*\*[^]*?\*\//g, ''), /\bany\b/, name)
    for (const [, target = ''] of text.matchAll(/from ['"]([^'"]+)['"]/g)) {
      const inside = new URL(target, `file:///${name}`).pathname.slice(1).replace(/\.mjs$/, '.d.mts')
      t.ok(target === 'fastify' || files.has(inside), `${name} imports ${target}`)
    }
  }
})

t.test('the type of the configuration follows its schema', async t => {
  const text = declarations().get('lib/gateway-file.d.mts') ?? ''
  t.match(text, /"aliases"\?: Record<string, string>/)
  t.match(text, /"protocol"\?: "openai" \| "anthropic"/)
  t.match(text, /"id": string/)
  t.notMatch(text, /unknown\[|undefined/)
})

/** Compiles only if the types of bodies are those by which the gateway itself is compiled. */
const bodies = ['ChatCompletion', 'ChatCompletionChunk', 'ChatCompletionRequest', 'ImageGenerationRequest']
const sameBodies = `
import type * as declared from 'tollgate'
import type * as chat from '${root}/schemas/openai/chat-completions.ts'
import type * as images from '${root}/schemas/openai/images-generations.ts'
type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends (<T>() => T extends Other ? 1 : 2) ? true : never
export const same: Same<[${bodies.map(name => `declared.${name}`)}], [${bodies.map(name =>
  `${name.startsWith('Image') ? 'images' : 'chat'}.${name}`)}]> = true
`

const plugin = `
import { createGateway, definePlugin, defineProvider, ProviderError, type PluginContext } from 'tollgate'
import { testGateway } from 'tollgate/testing'

const lengths = new WeakMap<PluginContext, number>()
const pii = definePlugin({
  name: 'pii',
  onError: 'skip',
  async request (call, context) {
    if (call.kind === 'image') return { ...call, body: { ...call.body, prompt: call.body.prompt.trim() } }
    for (const message of call.body.messages) {
      if (message.role === 'user' && message.content === '') context.reject(400, 'Say something.')
    }
    lengths.set(context, call.body.messages.length)
  },
  chunk: piece => piece.choices[0]?.delta.content === '' ? null : piece,
  settled: ({ costUsd }) => { console.log(costUsd?.length) },
  providers: {
    echo: defineProvider({
      async * chat ({ body, signal }) {
        if (signal.aborted) throw new ProviderError(503, 'Gone.', { retryAfterMs: 10 })
        yield { type: 'text', text: body.model }
      }
    })
  }
})
export const made = definePlugin((options: { word: string }) => ({ name: options.word }))
// @ts-expect-error: a call has a kind
definePlugin({ name: 'wrong', request: () => ({ body: {} }) })
await createGateway({ plugins: [pii, made({ word: 'tea' })] })
await using gateway = await testGateway({ plugins: [pii] })
`

t.test('an app compiles a typed plugin with --strict, and its bodies have the types of the gateway', async t => {
  const app = t.testdir({ 'plugin.mts': plugin, 'same-bodies.mts': sameBodies })
  for (const [name, text] of declarations()) {
    mkdirSync(join(app, 'dist', dirname(name)), { recursive: true })
    writeFileSync(join(app, 'dist', name), text)
  }
  const compilerOptions = {
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    target: 'esnext',
    module: 'nodenext',
    allowImportingTsExtensions: true,
    types: ['node'],
    paths: { tollgate: ['./dist/lib/index.d.mts'], 'tollgate/testing': ['./dist/lib/testing.d.mts'] }
  }
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts'] }))
  const compile = promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript-7/bin/tsc'), '-p', app])
  t.equal(await compile.then(() => '', ({ stdout, stderr }) => stdout + stderr), '')
})
