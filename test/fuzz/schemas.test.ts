import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { buildGateway } from '../helpers/gateway.ts'
import { inlined } from '../openapi/inline.ts'
import { broken, valid, type JsonSchema } from './arbitrary.ts'

// Sends valid and almost valid requests to every operation of the OpenAPI document. `FUZZ_RUNS` makes it
// longer, `FUZZ_SEED` repeatable.

const adminKey = 'fuzz-admin-key-0123456789'
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 12)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000)

interface Parameter { name: string, in: 'path' | 'query' | 'header', required?: boolean, schema: JsonSchema }
interface Content { [type: string]: { schema: JsonSchema } }
interface Operation {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}
/** Values with a meaning for the gateway, by names of fields and parameters. */
type Known = Record<string, unknown[]>
/** Operations whose events never end. */
const endless: ReadonlySet<string> = new Set(['/admin/live'])
/** The clients that may watch a node at once. It notices within two seconds that one has left. */
const maxWatching = 50

interface Request {
  path: Record<string, string>
  query: Record<string, string>
  header: Record<string, string>
  body?: unknown
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, discriminator: true })
const compiled = new WeakMap<JsonSchema, ValidateFunction>()

t.test(`no request gets a 5xx or an undocumented answer (seed ${seed})`, { timeout: 120_000 }, async t => {
  const { app, key } = await buildGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey, TOLLGATE_STARTING_CREDIT: '1000' } })
  const document = await app.inject({ url: '/openapi.json' })
  const { paths } = inlined(document.json<{ paths: Record<string, Record<string, Operation>> }>())

  const [first] = await app.store.all<{ id: string, account: string }>('select id, account from api_key')
  const known: Known = {
    model: ['sandbox-chat', 'sandbox-image', 'auto'],
    account: [first?.account],
    parent: [null],
    entry: ['none'],
    reason: ['a reason'],
    amount_nano: [1, 1_000_000],
    budget: [null],
    expires_at: [null],
    from: ['2026-01-01'],
    to: ['2036-01-01'],
  }
  /** The `id` in a path, and of resources created there. */
  const idsAt = (path: string): unknown[] => {
    if (path.startsWith('/admin/keys/')) return [first?.id]
    return path.startsWith('/v1/models/') ? ['sandbox-chat'] : [first?.account]
  }

  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const send = async (request: Request): Promise<void> => {
        const url = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(request.path[name] ?? ''))
        const answer = await app.inject({
          method: method.toUpperCase() as 'GET',
          url,
          query: request.query,
          headers: {
            ...request.header,
            authorization: `Bearer ${path.startsWith('/admin/') ? adminKey : key}`,
            ...(request.body === undefined ? {} : { 'content-type': 'application/json' })
          },
          ...(request.body === undefined ? {} : { payload: JSON.stringify(request.body) }),
          payloadAsStream: true
        })
        const type = String(answer.headers['content-type'] ?? '')
        const body = await bodyOf(answer.stream(), endless.has(path))
        // The client leaves.
        answer.raw.res.destroy()
        const problem = problemOf(operation, answer.statusCode, type, body)
        if (problem !== null) throw new Error(`${method} ${url}: ${problem}`)
      }
      const property = fc.asyncProperty(requestFor(operation, { ...known, id: idsAt(path) }), send)
      const runs = endless.has(path) ? Math.min(numRuns, maxWatching) : numRuns
      await t.resolves(fc.assert(property, { numRuns: runs, seed }), operation.operationId)
    }
  }
})

function requestFor ({ parameters = [], requestBody }: Operation, known: Known): fc.Arbitrary<Request> {
  const partOf = (place: Parameter['in']) => {
    const own = parameters.filter(parameter => parameter.in === place)
    const texts = own.map(({ name, schema }) => {
      const good = known[name] === undefined ? valid(schema) : fc.constantFrom(...known[name])
      return [name, fc.oneof({ arbitrary: good, weight: 6 }, fc.string()).map(textOf)] as const
    })
    const requiredKeys = own.filter(({ required }) => required).map(({ name }) => name)
    return fc.record(Object.fromEntries(texts), { requiredKeys })
  }
  const schema = requestBody?.content['application/json']?.schema
  const parts = { path: partOf('path'), query: partOf('query'), header: partOf('header').map(printable) }
  if (schema === undefined) return fc.record(parts)
  const good = { arbitrary: sensible(schema, known), weight: 3 }
  return fc.record({ ...parts, body: fc.oneof(good, broken(schema), fc.jsonValue()) })
}

/** Valid requests; three in four name existing things, so that they do not end in a 404. */
function sensible (schema: JsonSchema, known: Known): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {}).filter(name => name in known)
  const thingsOf = names.map(name => [name, fc.constantFrom(...known[name] ?? [])] as const)
  const things = fc.record(Object.fromEntries(thingsOf))
  return fc.tuple(valid(schema), things, fc.nat(3)).map(([body, things, dice]) => {
    if (dice === 0 || typeof body !== 'object') return body
    // Only one of two forms of an amount is allowed.
    const { amount_usd: _usd, ...rest } = { ...body, ...things } as Record<string, unknown>
    return 'amount_nano' in things ? rest : { ...body, ...things }
  })
}

async function bodyOf (stream: Readable, isEndless: boolean): Promise<string> {
  if (!isEndless) return await text(stream)
  const [first] = await once(stream, 'data')
  stream.destroy()
  return String(first)
}

/** Why an answer violates the document; null: it does not. */
function problemOf (operation: Operation, status: number, type: string, body: string): string | null {
  // Any 5xx would be the gateway's own; the sandbox fails only on request.
  if (status >= 500) return `${status} ${body}`
  const response = operation.responses[status] ?? operation.responses[`${Math.floor(status / 100)}XX`]
  if (response === undefined) return `${status} is not documented`
  if (body === '') return null
  const [mediaType = ''] = type.split(';')
  const content = response.content?.[mediaType]
  if (content === undefined) return `${status} as ${mediaType} is not documented`
  if (mediaType !== 'application/json') return null
  const check = compiled.get(content.schema) ?? ajv.compile(content.schema)
  compiled.set(content.schema, check)
  return check(JSON.parse(body)) ? null : `${status} ${JSON.stringify(check.errors)} in ${body}`
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}

/** Whether a client can send a value in a header. */
function printable (headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, text.replace(/[^\x20-\x7e]/g, '')]))
}
