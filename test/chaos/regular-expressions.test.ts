import { globSync, readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { fetchPackages } from '../helpers/fetched.ts'

// Every pattern takes linear time for any text, which recheck proves, or is listed below with a reason. It is
// installed without its programs for the JVM and for each platform.

interface Recheck {
  checkSync (pattern: string, flags: string, options: { timeout: number }): { status: string }
}

const require = createRequire(import.meta.url)
// The one in JavaScript alone; the others start a program.
process.env['RECHECK_BACKEND'] = 'pure'
const load = await fetchPackages('recheck-4.5.0', '--omit=optional', 'recheck@4.5.0')
const recheck = (await load?.('recheck') as { default: Recheck } | undefined)?.default
const skip = recheck === undefined && 'recheck cannot be installed'
const espree = require('espree') as { parse (code: string, options: object): unknown }

const root = join(import.meta.dirname, '../..')
const folders = ['bin', 'cli', 'plugins', 'routes', 'schemas', 'services']

const ofOperator = 'is for texts of the operator or of the gateway itself'
const ofName = 'is for names of models, which are short'
/** Repetitions have bounds, so the time is linear with a greater factor; the proof would take too long. */
const bounded = 'repeats a bounded number of times'
const short = 'is for texts that were cut before, to a few thousand characters'

/** Beginnings of files, and of their patterns, that are not proved. */
const exceptions: readonly (readonly [file: string, pattern: string, why: string])[] = [
  ['services/shared/redact.ts', '', short],
  ['services/routing/describe.ts', ', quality=', ofOperator],
  ['services/routing/text/task.ts', '\\bselect\\b', bounded],
  ['services/routing/scoring/', '', ofName],
  ['services/providers/video-jobs/choices.ts', '', ofName],
  ['services/providers/fal/model-fields.ts', '', ofName],
  ['services/providers/sandbox/prompt-values.ts', '', bounded],
  ['services/providers/gemini/errors.ts', 'input token count', bounded],
  ['services/providers/anthropic/anthropic.ts', '\\/v\\d+', ofOperator],
  ['services/billing/ledger/errors.ts', '(\\.\\d{2,}?)0+$', ofOperator],
  ['services/providers/server-limits.ts', 'context (?:length', bounded],
  ['services/providers/openai/request-rules.ts', '^grok-', ofName],
  ['services/providers/openai/think-tags.ts', 'minimax', ofName],
  ['services/config/', '', ofOperator],
  ['services/config/catalogue/priced-fields.ts', '(^|\\/)(gpt-', ofName],
  ['services/operations/alerts/budgets.ts', '^budget:', ofOperator],
  ['cli/', '', ofOperator]
]

interface Found { file: string, line: number, pattern: string, flags: string }

function patternsIn (file: string): Found[] {
  const code = stripTypeScriptTypes(readFileSync(join(root, file), 'utf8'))
  const found: Found[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { regex, loc }: { regex?: Pick<Found, 'pattern' | 'flags'>, loc?: { start: { line: number } } } = node
    if (regex !== undefined) found.push({ file, line: loc?.start.line ?? 0, ...regex })
    Object.values(node).forEach(walk)
  }
  walk(espree.parse(code, { loc: true, ecmaVersion: 'latest', sourceType: 'module' }))
  return found
}

function isLinear ({ pattern, flags }: Pick<Found, 'pattern' | 'flags'>): boolean {
  const found = recheck?.checkSync(pattern, flags.replace('v', 'u'), { timeout: 20_000 })
  return found?.status === 'safe'
}

t.test('a pattern that looks again and again at the same text is found', { skip }, async t => {
  for (const pattern of ['\\s+$', '(a|a)*b', 'https?://\\S{1,2000}\\.png(\\?\\S{1,2000})?(?=\\s|$)x+x+y']) {
    t.notOk(isLinear({ pattern, flags: '' }), pattern)
  }
})

t.test('every pattern takes linear time, or says why it need not', { skip, timeout: 120_000 }, async t => {
  const files = folders.flatMap(folder => globSync(`${folder}/**/*.ts`, { cwd: root, exclude: ['**/*.d.ts'] }))
  const seen = new Set<string>()
  for (const found of files.flatMap(patternsIn)) {
    const isListed = exceptions.some(([file, pattern]) =>
      found.file.startsWith(file) && found.pattern.startsWith(pattern))
    const name = `/${found.pattern}/${found.flags}`
    if (isListed || seen.has(name)) continue
    seen.add(name)
    if (!isLinear(found)) t.fail(`${found.file}:${found.line} ${name}`)
  }
  t.ok(seen.size > 200, `${seen.size} patterns`)
})

/** Patterns that are put together at run time, by file, and why no client can make them slow. */
const puttingTogether: Readonly<Record<string, string>> = {
  'services/shared/redact.ts': 'of constants',
  'services/providers/openai/prompt-rules.ts': 'of constants',
  'services/providers/upstream/read-response.ts': 'a provider\'s key, escaped',
  'services/providers/sandbox/tokens.ts': 'of constants',
  'services/providers/sandbox/sample-pattern.ts': 'one class of characters, read letter by letter',
  'services/providers/fal/model-fields.ts': 'of constants',
  'services/providers/video-jobs/errors.ts': 'of constants',
  'services/routing/text/asked-length.ts': 'of constants',
  'services/routing/text/word-problem.ts': 'of constants',
  'routes/v1/unsupported.ts': 'each repeats one class, between slashes',
  'services/http/route-table.ts': 'the paths of the routes, escaped',
  'services/media/blob-store.ts': 'of constants',
  'services/extensions/shipped/redact.ts': 'those of the operator, run with a time limit',
  'services/providers/bedrock/model-names.ts': 'ARNs of the operator, escaped',
  'services/providers/missing-address.ts': 'of constants',
  'services/providers/openai/openrouter-video-list.ts': 'of constants'
}

t.test('every pattern that is put together at run time is listed', async t => {
  const files = folders.flatMap(folder => globSync(`${folder}/**/*.ts`, { cwd: root, exclude: ['**/*.d.ts'] }))
  const found = files.filter(file => nodesIn(file).some(({ type, callee }) =>
    (type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp'))
  t.same(found.sort(), Object.keys(puttingTogether).sort())
})

interface Node {
  type?: string
  operator?: string
  callee?: { name?: string }
  left?: unknown
  right?: unknown
}

function nodesIn (file: string): Node[] {
  const found: Node[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('type' in node) found.push(node as Node)
    Object.values(node).forEach(walk)
  }
  const code = stripTypeScriptTypes(readFileSync(join(root, file), 'utf8'))
  walk(espree.parse(code, { ecmaVersion: 'latest', sourceType: 'module' }))
  return found
}

t.test('secrets, digests and signatures are compared in constant time', async t => {
  const secret = /secret|sha256|digest|signature|hmac|csrf|password/i
  const isSecret = (node: unknown): boolean => secret.test(lastName(node))
  const isText = (node: unknown): boolean => node instanceof Object && Reflect.get(node, 'type') === 'Literal'
  const compared = folders.flatMap(folder => globSync(`${folder}/**/*.ts`, { cwd: root, exclude: ['**/*.d.ts'] })).flatMap(file =>
    nodesIn(file).filter(({ type, operator = '', left, right }) => type === 'BinaryExpression' &&
      ['===', '!==', '==', '!='].includes(operator) && (isSecret(left) || isSecret(right)) &&
      !isText(left) && !isText(right) && lastName(left) !== 'undefined' && lastName(right) !== 'undefined')
      .map(({ left, right }) => `${file}: ${lastName(left)} ${lastName(right)}`))
  t.same(compared.sort(), [
    // A signature of the client with itself, in its canonical form.
    'services/media/url-signer.ts:  signature',
    // Digests of published catalogues, which are no secrets.
    'services/operations/catalogue/fetch-update.ts: expected sha256',
    'services/operations/catalogue/updates.ts:  sha256'
  ])
})

/** The name of a variable, or of the last member of an expression. */
function lastName (node: unknown): string {
  const { name, property } = Object(node)
  return typeof name === 'string' ? name : property === undefined ? '' : lastName(property)
}
