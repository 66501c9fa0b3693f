import type { JsonObject } from '../../../services/shared/json.ts'
import { createRandom, type Random } from '../../services/billing/ledger/random.ts'
import { createGenerator, damage, mutate, type DocumentSchema } from './generate.ts'
import { surfaces, videoSurface, type Surface } from './surfaces.ts'
import { junkValue, oddText } from './texts.ts'

interface Parameter { name: string, in: 'path' | 'query' | 'header', required?: boolean, schema: DocumentSchema }

/** An operation of the OpenAPI document. */
export interface DocumentedOperation {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: DocumentSchema } | undefined> }
  responses: Record<string, { content?: Record<string, { schema?: DocumentSchema } | undefined> } | undefined>
}

export interface ApiDocument {
  paths: Record<string, Record<string, DocumentedOperation>>
  components?: { schemas?: Record<string, DocumentSchema> }
}

/** One request, as bytes. */
export interface FuzzRequest {
  index: number
  id: string
  method: string
  /** As in the document, e.g. `/v1/models/{id}`. */
  path: string
  surface: Surface
  operation: DocumentedOperation
  /** As asked for; null: there is none. */
  model: string | null
  bytes: Buffer
  leavesAfterMs: number | null
  /** Whether the answer may be that of another request. */
  isJoined: boolean
}

interface Keys { user: string, admin: string }

/** Ids that operators' requests may name: nothing that the fuzz itself needs. */
const ids = ['scratch-1', 'scratch-2', 'scratch-3', 'none', 'sandbox-chat', '0000000000000000']

/** Creates the requests of a seed: each has its number and is the same each time. */
export function createRequests (
  document: ApiDocument, { seed, keys }: { seed: number, keys: Keys }
): (index: number) => FuzzRequest {
  const generator = createGenerator(document.components?.schemas ?? {})
  const places = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      path, method, operation, surface: surfaces[`${method} ${path}`] ?? { weight: path.startsWith('/v1/') ? 2 : 0.25 }
    })))
  const chat = places.find(({ path, method }) => method === 'post' && path === '/v1/chat/completions')
  if (chat !== undefined) places.push({ ...chat, surface: videoSurface })
  const weighted = places.map(place => [place.surface.weight, place] as const)

  return index => {
    const random = createRandom(seed * 1_000_003 + index)
    const { path, method, operation, surface } = random.weighted(weighted)
    const body = bodyOf(operation, surface, random, generator)
    const id = `fz-${seed}-${index}`
    const { headers, isJoined } = headersOf(path, id, keys, random)
    const target = targetOf(path, operation, random, generator)
    if (body !== null) headers.push(`content-length: ${body.bytes.length}`)
    const head = `${method.toUpperCase()} ${target} HTTP/1.1\r\nhost: fuzz\r\n${headers.join('\r\n')}\r\n\r\n`
    return {
      index,
      id,
      method,
      path,
      surface,
      operation,
      model: body?.model ?? null,
      isJoined,
      bytes: Buffer.concat([Buffer.from(head, 'latin1'), body?.bytes ?? Buffer.alloc(0)]),
      leavesAfterMs: surface.isEndless === true || random.next() < 0.02 ? random.integer(0, 30) : null
    }
  }
}

type Generator = ReturnType<typeof createGenerator>

function bodyOf (
  operation: DocumentedOperation, surface: Surface, random: Random, { valid }: Generator
): { bytes: Buffer, model: string | null } | null {
  const schema = operation.requestBody?.content['application/json']?.schema
  if (schema === undefined) return null
  const isOdd = random.next() < 0.05
  const known = surface.models === undefined ? null : random.pick(surface.models) ?? null
  const model = known !== null && isOdd ? oddText(random) : known
  const own = model === null ? {} : { model }
  const example: JsonObject = { ...own, ...surface.example?.(random) }
  const made = valid(schema, random)
  const base = surface.example === undefined
    ? made
    : random.weighted<unknown>([
      [8, example], [1, { ...Object(made), ...example }], [1, { ...Object(made), ...own }]
    ])
  const changes = random.weighted([[4, 0], [4, 1], [2, random.integer(2, 5)]] as const)
  const value = random.next() < 0.01 ? junkValue(random) : mutate(base, random, changes)
  // Text without ASCII as it is, so that UTF-8 is read too; halves of pairs remain as escapes.
  const text = JSON.stringify(value) ?? ''
  const named: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'model') : null
  const bytes = random.next() < 0.04 ? damage(text, random) : Buffer.from(text)
  return { bytes, model: typeof named === 'string' ? named : null }
}

const oddHeaderLines: readonly ((random: Random) => string)[] = [
  random => `x-tollgate-cache: ${random.pick(['on', 'off', 'refresh', ''])}`, random => `x-tollgate-tags: ${printable(oddText(random, 300))}`,
  random => `x-tollgate-deadline-ms: ${random.pick(['1', '1e9', '-1', 'x', '50'])}`, random => `x-request-id: ${printable(oddText(random, 300))}`,
  random => `user-agent: ${printable(oddText(random, 3_000))}`, random => `${printable(oddText(random, 30)).replace(/[^a-z]/gi, 'x')}: ${printable(oddText(random, 300))}`,
  () => 'x-stainless-retry-count: 99999999999999999999', () => 'traceparent: 00-00000000000000000000000000000000-0000000000000000-01', () => 'accept: text/csv',
  () => 'accept-encoding: gzip', () => 'x-forwarded-for: 1.2.3.4, \xff', () => 'x-forwarded-proto: javascript', () => 'origin: https://evil.example',
  () => 'if-none-match: "x"', () => 'range: bytes=0-18446744073709551616', () => 'cookie: a=b', () => 'content-encoding: gzip', () => 'content-type: text/plain',
  () => 'expect: 100-continue', () => 'authorization: Bearer sk-tg-0000000000000000-00000000000000000000000000000000', () => 'x-note: \xe9\xff', () => 'prefer: respond-async'
]

function headersOf (
  path: string, id: string, { user, admin }: Keys, random: Random
): { headers: string[], isJoined: boolean } {
  const bearer = path.startsWith('/admin/') || path === '/metrics' ? admin : user
  const lines = ['content-type: application/json', `x-request-id: ${id}`]
  if (random.next() < 0.98) lines.push(`authorization: Bearer ${bearer}`)
  const isJoined = random.next() < 0.04
  const key = random.next() < 0.5 ? `k${random.integer(0, 40)}` : printable(oddText(random, 300))
  if (isJoined) lines.push(`idempotency-key: ${key}`)
  if (random.next() < 0.85) return { headers: lines, isJoined }
  const odd = Array.from({ length: random.integer(1, 3) }, () => random.pick(oddHeaderLines)?.(random) ?? 'x-a: 1')
  const names = odd.map(line => line.split(':')[0])
  const kept = lines.filter(line => !names.includes(line.split(':')[0]))
  return { headers: [...kept, ...odd], isJoined: isJoined || names.includes('x-tollgate-cache') }
}

function printable (text: string): string {
  return text.replace(/[^\x20-\x7e\x80-\xff]/g, '').trim()
}

function targetOf (
  path: string, { parameters = [] }: DocumentedOperation, random: Random, { valid }: Generator
): string {
  const textOf = (schema: DocumentSchema): string => {
    const value = random.next() < 0.15 ? oddText(random, 300) : valid(schema, random)
    return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 300)
  }
  const filled = path.replace(/\{(\w+)\}/g, () => encoded(random.next() < 0.7 ? random.pick(ids) ?? '' : oddText(random, 300)))
  const inQuery = parameters.filter(({ in: place }) => place === 'query')
  const asked = inQuery.filter(({ required }) => required === true || random.next() < 0.3)
  const query = asked.map(({ name, schema }) => `${name}=${encoded(textOf(schema))}`)
  if (random.next() < 0.02) query.push(`${encoded(oddText(random, 30))}=${encoded(oddText(random, 300))}`)
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())
