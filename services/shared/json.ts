import { isUtf8 } from 'node:buffer'
import { GatewayError, unreadableBody } from './errors.ts'
/** Deepest nesting of arrays and objects that a request body may have. */
export const maxDepth = 256

/** The position of a member of the outermost object. `end` is exclusive. */
interface Member { key: string, start: number, end: number }

/**
 * A JSON object as received, with its parsed value. Changing a member splices the text, so a long
 * conversation is never serialized again, and unchanged members reach the provider byte for byte.
 */
export class JsonText {
  readonly bytes: Uint8Array
  readonly value: unknown
  readonly #text: string
  readonly #members: readonly Member[]

  private constructor (bytes: Uint8Array, text: string, value: unknown) {
    this.bytes = bytes
    this.value = value
    this.#text = text
    this.#members = text.charCodeAt(skipSpace(text, 0)) === openBrace ? membersOf(text) : []
  }

  /** Parses UTF-8 JSON; throws a 400 GatewayError when it is not valid or nested too deeply. */
  static parse (bytes: Buffer): JsonText {
    if (!isUtf8(bytes)) throw GatewayError.invalidRequest(unreadableBody)
    const text = bytes.toString()
    try {
      return new JsonText(bytes, text, JSON.parse(text))
    } catch (error) {
      throw error instanceof SyntaxError ? GatewayError.invalidRequest(unreadableBody) : error
    }
  }

  /** Serializes a value that was not received as text. */
  static from (value: object): JsonText {
    const text = JSON.stringify(value)
    return new JsonText(Buffer.from(text), text, value)
  }

  /**
   * Returns the UTF-8 text with members of the outermost object set, or removed (undefined). Of repeated keys
   * only the last is kept, the one that `value` has, so the provider reads the request that was checked and
   * priced.
   */
  with (edits: ReadonlyMap<string, unknown>): Uint8Array {
    const lastOf = this.#lastOfRepeatedKeys()
    if (edits.size === 0 && lastOf === null) return this.bytes
    const changes = [...edits]
    let text = '{'
    const add = (part: string): void => { text += text === '{' ? part : `,${part}` }
    for (const member of this.#members) {
      const { key, start, end } = member
      if (lastOf !== null && lastOf.get(key) !== member) continue
      const change = changes.find(([name]) => name === key)
      if (change === undefined) add(this.#text.slice(start, end))
      else if (change[1] !== undefined) add(memberOf(key, change[1]))
    }
    for (const [key, value] of changes) {
      if (value !== undefined && !this.#members.some(member => member.key === key)) add(memberOf(key, value))
    }
    return Buffer.from(`${text}}`)
  }

  /** The last member of each key; null if no key is repeated. */
  #lastOfRepeatedKeys (): ReadonlyMap<string, Member> | null {
    if (!isObject(this.value) || Object.keys(this.value).length === this.#members.length) return null
    return new Map(this.#members.map(member => [member.key, member]))
  }
}

function memberOf (key: string, value: unknown): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** Finds the members of the outermost object. The text must already be known to be valid JSON. */
function membersOf (text: string): Member[] {
  const members: Member[] = []
  let at = skipSpace(text, skipSpace(text, 0) + 1)
  while (text.charCodeAt(at) === quote) {
    const start = at
    const keyEnd = stringEnd(text, start)
    const end = valueEnd(text, skipSpace(text, skipSpace(text, keyEnd) + 1))
    members.push({ key: keyOf(text, start, keyEnd), start, end })
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
  }
  return members
}

function keyOf (text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end - 1)
  return key.includes('\\') ? String(JSON.parse(text.slice(start, end))) : key
}

function skipSpace (text: string, at: number): number {
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}

/** The position after the closing quote of the string that starts at `start`. Takes linear time. */
function stringEnd (text: string, start: number): number {
  let at = start
  for (;;) {
    at = text.indexOf('"', at + 1)
    let before = at - 1
    while (text.charCodeAt(before) === backslash) before--
    if ((at - before) % 2 === 1) return at + 1
  }
}

function valueEnd (text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === quote) return stringEnd(text, start)
  if (first === openBrace || first === openBracket) return nestedEnd(text, start)
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === comma || code === closeBrace || code <= 0x20) return at
    at++
  }
}

function nestedEnd (text: string, start: number): number {
  let depth = 0
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = stringEnd(text, at)
      continue
    }
    if (code === openBrace || code === openBracket) {
      if (++depth >= maxDepth) throw GatewayError.invalidRequest(`The body is nested more than ${maxDepth} levels deep.`)
    } else if ((code === closeBrace || code === closeBracket) && --depth === 0) {
      return at + 1
    }
    at++
  }
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
