import { isUtf8 } from 'node:buffer'
import { GatewayError, unreadableBody } from './errors.ts'

/**
 * A JSON object as received, with its parsed value. Changing a member splices the bytes, so a long
 * conversation is never serialized again, and unchanged members reach the provider as they were written.
 */
export class JsonText {
  readonly bytes: Buffer
  readonly value: unknown
  readonly #scan: JsonScan

  private constructor (bytes: Buffer, value: unknown, scan: JsonScan) {
    this.bytes = bytes
    this.value = value
    this.#scan = scan
  }

  /**
   * Parses UTF-8 JSON, with or without a byte order mark: RFC 8259 lets a parser ignore one, and PowerShell
   * writes it. Throws GatewayError 400 if it is not valid or too deep, 413 for too many values.
   */
  static parse (received: Buffer): JsonText {
    if (!isUtf8(received)) throw GatewayError.invalidRequest(unreadableBody)
    const hasMark = received[0] === 0xef && received[1] === 0xbb && received[2] === 0xbf
    const bytes = hasMark ? received.subarray(3) : received
    const scan = scanJson(bytes)
    try {
      return new JsonText(bytes, JSON.parse(bytes.toString()), scan)
    } catch (error) {
      throw error instanceof SyntaxError ? GatewayError.invalidRequest(unreadableBody) : error
    }
  }

  /** Serializes a value that was not received as text. */
  static from (value: object): JsonText {
    const bytes = Buffer.from(JSON.stringify(value))
    return new JsonText(bytes, value, scanJson(bytes))
  }

  /** How much work and memory the value takes beside its texts; see `costs`. */
  get cost (): number {
    return this.#scan.cost
  }

  /** The same without some members of the outermost object. */
  without (keys: readonly string[]): JsonText {
    const { value } = this
    if (!isObject(value) || !keys.some(key => Object.hasOwn(value, key))) return this
    const bytes = this.with(new Map(keys.map(key => [key, undefined])))
    const kept = Object.entries(value).filter(([key]) => !keys.includes(key))
    return new JsonText(bytes, Object.fromEntries(kept), scanJson(bytes))
  }

  /**
   * Returns the UTF-8 text with members of the outermost object set, or removed (undefined). Of repeated keys
   * only the last is kept, the one that `value` has, so the provider reads the request that was checked and
   * priced.
   */
  with (edits: ReadonlyMap<string, unknown>): Buffer {
    const { bytes, value } = this
    const { members } = this.#scan
    const names = isObject(value) ? Object.keys(value) : []
    const hasRepeated = isObject(value) && names.length !== members.length
    if (edits.size === 0 && !hasRepeated) return bytes
    // In an object of JavaScript, names that are numbers come first.
    const isInOrder = !hasRepeated && !/^\d/.test(names[0] ?? '')
    const keys = isInOrder ? names : members.map(member => keyOf(bytes, member))
    const lastOf = hasRepeated ? new Map(keys.map((key, at) => [key, at])) : null
    const kept = new Splice(bytes)
    members.forEach((member, at) => {
      const key = keys[at] ?? ''
      if (lastOf !== null && lastOf.get(key) !== at) return
      if (!edits.has(key)) return kept.keep(member)
      const changed = edits.get(key)
      if (changed !== undefined) kept.add(memberOf(key, changed))
    })
    for (const [key, changed] of edits) {
      if (changed !== undefined && !keys.includes(key)) kept.add(memberOf(key, changed))
    }
    return kept.toBytes()
  }
}

/** An object of some of the members of a text, and of new ones. */
class Splice {
  readonly #bytes: Buffer
  readonly #parts: (string | Range)[] = []
  /** Without braces and the commas between parts. */
  #length = 0

  constructor (bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Members that follow each other in the text are one part. */
  keep ({ start, end }: Range): void {
    const last = this.#parts.at(-1)
    if (typeof last === 'object' && isSeparator(this.#bytes, last.end, start)) {
      this.#length += end - last.end
      last.end = end
      return
    }
    this.#parts.push({ start, end })
    this.#length += end - start
  }

  add (member: string): void {
    this.#parts.push(member)
    this.#length += Buffer.byteLength(member)
  }

  toBytes (): Buffer {
    const text = Buffer.allocUnsafe(this.#length + Math.max(this.#parts.length, 1) + 1)
    let at = 0
    text[at++] = openBrace
    for (const part of this.#parts) {
      if (at > 1) text[at++] = comma
      at += typeof part === 'string' ? text.write(part, at) : this.#bytes.copy(text, at, part.start, part.end)
    }
    text[at] = closeBrace
    return text
  }
}

/** A part of a text; `end` is exclusive. */
interface Range { start: number, end: number }

/** Whether nothing but a comma and white space is between two members. */
function isSeparator (bytes: Uint8Array, end: number, start: number): boolean {
  let commas = 0
  for (let at = end; at < start; at++) {
    const byte = bytes[at] ?? 0
    if (byte === comma) commas++
    else if (byte > 0x20) return false
  }
  return commas === 1
}

function memberOf (key: string, value: unknown): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`
}

function keyOf (bytes: Buffer, { start, keyEnd }: Member): string {
  const key = bytes.toString('utf8', start, keyEnd)
  return key.includes('\\') ? String(JSON.parse(key)) : key.slice(1, -1)
}

/** A JSON object whose members are not validated. */
export type JsonObject = Record<string, unknown>

/** A member by a name from outside, where `constructor` and the like are names as any other. */
export function ownMember<Value> (object: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Whether a JSON value is an object. */
export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a non-empty string. */
export function isText (value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The object with other members, undefined: without; the same object when it has them already. */
export function withMembers (body: JsonObject, members: JsonObject): JsonObject {
  // Mostly nothing changes, and this loop costs less than a list of names.
  for (const name in members) {
    const value = members[name]
    if (body[name] === value && (value !== undefined || !(name in body))) continue
    const entries = Object.entries({ ...body, ...members })
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }
  return body
}

/** Deepest nesting of arrays and objects that a request body may have. */
export const maxDepth = 256

/** Most of what the values of a body may cost together; see `costs`. */
export const maxJsonCost = 2_000_000

/**
 * What parsing and checking one more of each costs, as multiples of an escape in a text: two million of those
 * are as much work as a million tokens in a list, or 125,000 empty objects. A surrogate is an escape of half
 * a pair: an emoji has two.
 */
export const costs = { container: 16, member: 16, text: 6, item: 2, surrogate: 4, escape: 1 }

/** The position of a member of the outermost object in the bytes. */
interface Member extends Range { keyEnd: number }

/** What one pass over a body finds. */
interface JsonScan {
  /** Members of the outermost object; only right if the text is valid JSON. */
  members: Member[]
  cost: number
}

const quote = 0x22
const backslash = 0x5c
const letterU = 0x75
const letterD = 0x64
const digit8 = 0x38
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/**
 * Bounds the work for a JSON text before any object is made of it, in one pass over its UTF-8 bytes. Throws
 * GatewayError 400 if it is nested too deeply, 413 for too many values. The text need not be valid JSON.
 */
function scanJson (bytes: Uint8Array): JsonScan {
  const members: Member[] = []
  let member: Member | null = null
  const marks: Marks = { quote: -1, backslash: -1, escapes: 0 }
  let isObject = false
  let depth = 0
  let cost = 0
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote: {
        const start = at
        at = stringEnd(bytes, start, marks) - 1
        cost += costs.text + marks.escapes
        if (depth === 1 && isObject && member === null) member = { start, keyEnd: at + 1, end: at + 1 }
        break
      }
      case comma:
        cost += costs.item
        if (depth === 1) member = ended(members, member, bytes, at)
        break
      case colon:
        cost += costs.member
        break
      case openBrace:
      case openBracket:
        if (depth === 0) isObject = bytes[at] === openBrace
        cost += costs.container
        if (++depth > maxDepth) throw tooDeep()
        break
      case closeBrace:
      case closeBracket:
        if (depth === 1) member = ended(members, member, bytes, at)
        depth--
        break
    }
    if (cost > maxJsonCost) throw tooMany()
  }
  return { members, cost }
}

function ended (members: Member[], member: Member | null, bytes: Uint8Array, at: number): null {
  if (member === null) return null
  let end = at
  while ((bytes[end - 1] ?? quote) <= 0x20) end--
  member.end = end
  members.push(member)
  return null
}

/** The next quote and backslash at or after a place in the bytes, and the cost of the last text's escapes. */
interface Marks { quote: number, backslash: number, escapes: number }

/** So many bytes are looked at here before the system's search is called, which costs as much. */
const nearBytes = 64

/**
 * The position after the closing quote of the string that starts at `start`. Takes linear time: a mark is
 * searched again only beyond the one found before.
 */
function stringEnd (bytes: Uint8Array, start: number, marks: Marks): number {
  marks.escapes = 0
  let at = start + 1
  while (at < bytes.length) {
    const near = Math.min(bytes.length, at + nearBytes)
    for (; at < near; at++) {
      const byte = bytes[at]
      if (byte === quote) return at + 1
      if (byte !== backslash) continue
      marks.escapes += isSurrogate(bytes, at + 1) ? costs.surrogate : costs.escape
      if (marks.escapes > maxJsonCost) throw tooMany()
      at++
    }
    if (marks.quote < at) marks.quote = placeOf(bytes, quote, at)
    if (marks.backslash < at) marks.backslash = placeOf(bytes, backslash, at)
    at = Math.max(at, Math.min(marks.quote, marks.backslash))
  }
  return bytes.length
}

/** Whether what follows a backslash is `ud8…` to `udf…`. Halves of pairs alone are slow to serialize. */
function isSurrogate (bytes: Uint8Array, at: number): boolean {
  return bytes[at] === letterU && ((bytes[at + 1] ?? 0) | 0x20) === letterD && (bytes[at + 2] ?? 0) >= digit8
}

/** The place of the next such byte, or the length of the bytes. */
export function placeOf (bytes: Uint8Array, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from)
  return at === -1 ? bytes.length : at
}

function tooDeep (): GatewayError {
  return GatewayError.invalidRequest(`The body is nested more than ${maxDepth} levels deep.`)
}

function tooMany (): GatewayError {
  return new GatewayError(413, 'invalid_request_error',
    'The request body has more values than this gateway accepts.', { code: 'request_too_large' })
}
