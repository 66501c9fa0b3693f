import t from 'tap'
import { declarations } from '../../tools/declarations.ts'

t.test('the declared types name nothing beside each other and the packages of an app', async t => {
  const files = declarations()
  t.ok(files.has('index.d.mts') && files.has('testing.d.mts') && files.has('gateway-file.d.mts'))
  for (const [name, text] of files) {
    t.notMatch(text.replace(/\/\*\*[^]*?\*\//g, ''), /\bany\b/, name)
    for (const [, target = ''] of text.matchAll(/from ['"]([^'"]+)['"]/g)) {
      const inside = new URL(target, `file:///${name}`).pathname.slice(1).replace(/\.mjs$/, '.d.mts')
      t.ok(target === 'fastify' || files.has(inside), `${name} imports ${target}`)
    }
  }
})

t.test('the type of the configuration follows its schema', async t => {
  const text = declarations().get('gateway-file.d.mts') ?? ''
  t.match(text, /"aliases"\?: Record<string, string>/)
  t.match(text, /"protocol"\?: "openai" \| "anthropic"/)
  t.match(text, /"id": string/)
  t.notMatch(text, /unknown\[|undefined/)
})
