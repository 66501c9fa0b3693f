import t from 'tap'
import { ConfigError } from '../../../../services/config/config-error.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'

const base = `environment_providers: false
providers: [{ id: mine, base_url: "http://a", claims: [my-*] }]
models: [{ id: chat, provider: mine, price: { input: 1, output: 2 } }]
`

function problemsOf (text: string, before = base): string[] {
  try {
    parseConfig(before + text, {})
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ path, line, message }) => `${line} ${path}: ${message}`)
  }
}

t.test('aliases keep their order', async t => {
  const { aliases } = parseConfig(`${base}aliases: { "claude-*": auto, "gpt-4*": chat, "*": mine/other, x: my-model }`, {})
  t.same(aliases, [
    { pattern: 'claude-*', model: 'auto' }, { pattern: 'gpt-4*', model: 'chat' }, { pattern: '*', model: 'mine/other' },
    { pattern: 'x', model: 'my-model' }
  ])
  t.same(parseConfig(base, {}).aliases, [])
})

t.test('a target that does not exist is reported with its line', async t => {
  t.same(problemsOf('aliases:\n  "gpt-*": auto\n  "claude-*": chatt'),
    ['6 aliases["claude-*"]: is not a model or policy (did you mean "chat"?)'])
  t.same(problemsOf('aliases: { x: auto:nothing }'), ['4 aliases.x: is not a model or policy'])
  t.same(problemsOf('aliases: { x: gpt-4.1 }', base.replace('claims', 'discover: true, claims')), [], 'the server may list it')
})

t.test('a pattern that never applies is reported', async t => {
  t.match(problemsOf('aliases: { chat: auto }'), [/^4 aliases.chat: is the id of a model/])
  t.match(problemsOf('aliases: { "auto:x*": chat }'), [/is reserved/])
  t.match(problemsOf('aliases: { "a b": chat }'), [/without spaces/])
})

t.test('what is not a map of names is reported', async t => {
  t.match(problemsOf('aliases: [a]'), [/^4 aliases/])
  t.match(problemsOf('aliases: { a: 7 }'), [/^4 aliases.a: must be a string/])
})
