import { isUtf8 } from 'node:buffer'
import { GatewayError, unreadableBody } from './errors.ts'
import { countContents, countMembers } from './json-bounds.ts'

/** A body of this many bytes or more takes milliseconds of the event loop. */
export const largeBytes = 256 * 1024

/** A JSON body with its parsed value. It is sent as received, or serialized if a member changes. */
export class JsonText {
  readonly bytes: Buffer
  readonly value: unknown
  /** How much memory the value takes beside its texts; see `costs`. 0 for a value of the gateway. */
  readonly cost: number
  /** Whether the text has more members than the value: it repeats a name. */
  readonly #hasRepeatedNames: () => boolean

  private constructor (bytes: Buffer, value: unknown, cost = 0, hasRepeatedNames = () => false) {
    this.bytes = bytes
    this.value = value
    this.cost = cost
    this.#hasRepeatedNames = hasRepeatedNames
  }

  /**
   * Parses UTF-8 JSON, with or without a byte order mark: RFC 8259 lets a parser ignore one, and PowerShell
   * writes it. Halves of surrogate pairs, which most providers refuse, become U+FFFD. Throws GatewayError 400
   * if it is not valid or too deep, 413 for too many values.
   */
  static parse (received: Buffer): JsonText {
    if (!isUtf8(received)) throw GatewayError.invalidRequest(unreadableBody)
    const hasMark = received[0] === 0xef && received[1] === 0xbb && received[2] === 0xbf
    const bytes = hasMark ? received.subarray(3) : received
    const scanned = bytes.length < largeBytes ? null : countMembers(bytes)
    const value = parsed(bytes)
    const { members, cost } = countContents(value)
    const mended = hasSurrogates(bytes) ? wellFormed(value) : value
    if (mended !== value) return new JsonText(Buffer.from(JSON.stringify(mended)), mended, cost)
    return new JsonText(bytes, value, cost, () => (scanned ?? countMembers(bytes, Infinity)) > members)
  }

  /** Serializes a value that was not received as text. */
  static from (value: object): JsonText {
    return new JsonText(Buffer.from(JSON.stringify(value)), value)
  }

  /** The same without some members of the top-level object. */
  without (keys: readonly string[]): JsonText {
    const { value } = this
    if (!isObject(value) || !keys.some(key => Object.hasOwn(value, key))) return this
    return JsonText.from(Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key))))
  }

  /**
   * Returns the UTF-8 text with members of the outermost object set, or removed (undefined); without changes,
   * the bytes as received. A text with a repeated name is serialized too: of equal names `value` has the last
   * one, and a provider that reads the first must not get another request than was checked and priced.
   */
  with (edits: ReadonlyMap<string, unknown>): Buffer {
    if (edits.size === 0 && !this.#hasRepeatedNames()) return this.bytes
    const members = isObject(this.value) ? Object.entries(this.value) : []
    return Buffer.from(JSON.stringify(Object.fromEntries([...members, ...edits])))
  }
}

function parsed (bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch (error) {
    throw error instanceof SyntaxError ? GatewayError.invalidRequest(unreadableBody) : error
  }
}

/** Whether a text may have an escape of half a surrogate pair. */
function hasSurrogates (bytes: Buffer): boolean {
  return bytes.includes('\\ud') || bytes.includes('\\uD')
}

/** The value with U+FFFD for halves of surrogate pairs; the same value if there are none. */
function wellFormed (value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (Array.isArray(value)) {
    const items = value.map(wellFormed)
    return items.every((item, at) => item === value[at]) ? value : items
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const formed = entries.map(([name, member]) => [name.toWellFormed(), wellFormed(member)] as const)
  const isSame = entries.every(([name, member], at) => formed[at]?.[0] === name && formed[at][1] === member)
  return isSame ? value : Object.fromEntries(formed)
}

/** A JSON object whose members are not validated. */
export type JsonObject = Record<string, unknown>

/** A member by an external name, for which `constructor` and the like are ordinary names. */
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

/** The object with members replaced, or removed if undefined; the same object if nothing changes. */
export function withMembers (body: JsonObject, members: JsonObject): JsonObject {
  for (const name in members) {
    const value = members[name]
    if (body[name] === value && (value !== undefined || !(name in body))) continue
    const entries = Object.entries({ ...body, ...members })
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }
  return body
}
