import { isUtf8 } from 'node:buffer'
import { GatewayError, unreadableBody } from './errors.ts'
import { scanJson, type JsonScan, type Member } from './json-scan.ts'

/**
 * A JSON object as received, with its parsed value. Changing a member splices the bytes, so a long
 * conversation is never serialized again, and unchanged members reach the provider as they were written.
 */
export class JsonText {
  readonly bytes: Uint8Array
  readonly value: unknown
  readonly #scan: JsonScan

  private constructor (bytes: Uint8Array, value: unknown, scan: JsonScan) {
    this.bytes = bytes
    this.value = value
    this.#scan = scan
  }

  /** Parses UTF-8 JSON. Throws GatewayError 400 if it is not valid or too deep, 413 for too many values. */
  static parse (bytes: Buffer): JsonText {
    if (!isUtf8(bytes)) throw GatewayError.invalidRequest(unreadableBody)
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
  with (edits: ReadonlyMap<string, unknown>): Uint8Array {
    const { bytes, value } = this
    const { members } = this.#scan
    const hasRepeated = isObject(value) && Object.keys(value).length !== members.length
    if (edits.size === 0 && !hasRepeated) return bytes
    const keys = members.map(member => keyOf(bytes, member))
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
  readonly #bytes: Uint8Array
  readonly #parts: Uint8Array[] = []
  #start = 0
  #end = 0

  constructor (bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** Members that follow each other in the text are one part. */
  keep ({ start, end }: Member): void {
    if (this.#end > 0 && isSeparator(this.#bytes, this.#end, start)) {
      this.#end = end
      return
    }
    this.#flush()
    this.#start = start
    this.#end = end
  }

  add (member: string): void {
    this.#flush()
    this.#push(Buffer.from(member))
  }

  toBytes (): Uint8Array {
    this.#flush()
    return Buffer.concat([openText, ...this.#parts, closeText])
  }

  #flush (): void {
    if (this.#end > 0) this.#push(this.#bytes.subarray(this.#start, this.#end))
    this.#end = 0
  }

  #push (part: Uint8Array): void {
    if (this.#parts.length > 0) this.#parts.push(commaText)
    this.#parts.push(part)
  }
}

const comma = 0x2c
const openText = Buffer.from('{')
const commaText = Buffer.from(',')
const closeText = Buffer.from('}')

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

function keyOf (bytes: Uint8Array, { start, keyEnd }: Member): string {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset + start, keyEnd - start).toString()
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
