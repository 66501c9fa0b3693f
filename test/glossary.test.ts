import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const sources = globSync('{plugins,routes,schemas,services,cli,bin}/**/*.{ts,js}', { cwd: root })

/** Words that the product does not use, in names, comments or messages, and the words to use instead. */
const glossary: [pattern: string, instead: string][] = [
  ['answer(s|ed|ing)?', 'response, result; respond, return'],
  ['ask(s|ed|ing)?', 'call, query, request'],
  ['surfaces?', 'API'],
  ['wish(es|ed)?', 'option'],
  ['incoming', 'exchange'],
  ['trace', 'record'],
  ['told', 'reported, sent'],
  ['nobody|whoever', 'a subject: no client, the operator'],
  ['what of', 'the part that'],
  ['anew', 'again'],
  ['so many', 'the number'],
  ['as long as it takes', 'a time']
]

/** Where such a word stays: the beginning of the path, the text and the reason. */
const exceptions: [file: string, text: RegExp, reason: string][] = [
  ['', /\bIncoming(?:Message|HttpHeaders)\b/g, 'types of Node.js'],
  ['services/shared/errors.ts', /was not answered within/g, 'a message that clients may match'],
  ['services/operations/observability/readable-line.ts', /trace/gi, 'a log level of pino'],
  ['services/media/disk.ts', /'incoming'/g, 'the folder exists in installations'],
  ['services/media/s3.ts', /trace: \(\)/g, 'a log level of the AWS SDK'],
  ['services/config/settings/parsers.ts', /'trace'/g, 'a log level of pino'],
  ['services/config/settings/settings.ts', /`trace`/g, 'a log level of pino'],
  ['services/config/settings/settings.ts', /is a trace\b/g, 'OpenTelemetry'],
  ['services/config/catalogue/priced-fields.ts', /'answers'|`answers`/g, 'the effect that chat/request-checks.ts reads'],
  ['services/operations/observability/tracing/', /trace/gi, 'OpenTelemetry'],
  ['services/operations/', /\basked\b|\bmodel_asked\b/g, 'a column of request_log'],
  ['plugins/library/traces.ts', /\btrace\b/g, 'OpenTelemetry'],
  ['plugins/gateway/request-summary.ts', /\btrace\b/g, 'OpenTelemetry'],
  ['plugins/gateway/access-log.ts', /\basked\b/g, 'a field of the access log'],
  ['plugins/gateway/chat.ts', /'the client of an answer had left'/g, 'a line of the log that operators search for'],
  ['bin/line-map.ts', /stack\s+\*?\s*trace/g, 'the term for it'],
  ['schemas/admin/requests.ts', /model_asked/g, 'a field of the admin API'],
  ['services/keys/', /\bAsk the operator\b|\baskOperator\b/g, 'advice to a person'],
  ['services/extensions/', /\banswer(?= ?[(:])/g, 'a method of the context of plugins'],
  ['services/billing/ledger/errors.ts', /\bAsk the operator\b/g, 'advice to a person']
]

/** Rooms that are still on their way, and how many such words they may have. A number only falls. */
const remaining: Record<string, number> = {
  cli: 5,
  plugins: 3,
  routes: 1,
  schemas: 4,
  'services/apis': 35,
  'services/billing': 56,
  'services/chat': 29,
  'services/images': 5,
  'services/media': 4,
  'services/providers': 192,
  'services/requests': 1,
  'services/routing': 61,
  'services/videos': 4
}

/** The words of a text: names are split at capitals and underscores, and lines of a comment are joined. */
function wordsOf (text: string): string {
  return text
    .replace(/\n\s*(?:\*|\/\/) ?/g, ' ')
    .replace(/[a-z\d](?=[A-Z])/g, '$& ')
    .replaceAll('_', ' ')
}

const roomOf = (file: string): string => /^services\/[^/]+/.exec(file)?.[0] ?? file.split('/')[0] ?? file

t.test('the product uses the words of its glossary', async t => {
  const found: Record<string, string[]> = {}
  for (const file of [...sources, 'fastify.config.ts']) {
    let text = readFileSync(join(root, file), 'utf8')
    for (const [place, pattern] of exceptions) if (file.startsWith(place)) text = text.replace(pattern, '')
    const words = wordsOf(text)
    for (const [pattern, instead] of glossary) {
      for (const [word] of words.matchAll(new RegExp(`\\b(?:${pattern})\\b`, 'gi'))) {
        (found[roomOf(file)] ??= []).push(`${file}: ${word} → ${instead}`)
      }
    }
  }
  for (const [room, uses] of Object.entries(found)) {
    const most = remaining[room] ?? 0
    t.ok(uses.length <= most, `${room} has ${uses.length} of at most ${most} words to replace`, { uses })
    if (uses.length < most) t.comment(`lower the number of ${room} to ${uses.length}`)
  }
})

t.test('each exception is still needed', async t => {
  const texts = new Map(sources.map(file => [file, readFileSync(join(root, file), 'utf8')]))
  for (const [place, pattern, reason] of exceptions) {
    const isUsed = [...texts].some(([file, text]) => file.startsWith(place) && text.search(pattern) >= 0)
    t.ok(isUsed, `${place || 'any file'}: ${reason}`)
  }
})
