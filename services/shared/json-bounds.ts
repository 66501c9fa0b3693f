import { GatewayError } from './errors.ts'

/** Deepest nesting of arrays and objects that a request body may have. */
export const maxDepth = 256

/** Most of what the values of a large body may cost together; see `costs`. */
export const maxJsonCost = 2_000_000

/**
 * What parsing and checking one more of each costs, as multiples of an escape in a text: two million of those
 * are as much work as a million tokens in a list, or 125,000 empty objects. A surrogate is an escape of half
 * a pair: an emoji has two.
 */
export const costs = { container: 16, member: 16, text: 6, item: 2, surrogate: 4, escape: 1 }

/** The members of all objects in a value, and what it costs but for the escapes of its texts. */
interface Contents { members: number, cost: number }

/** Counts what a parsed value has. Throws GatewayError 400 if it is nested too deeply. */
export function countContents (value: unknown): Contents {
  const contents = { members: 0, cost: 0 }
  count(value, contents, 0)
  return contents
}

function count (value: unknown, contents: Contents, depth: number): void {
  if (typeof value === 'string') contents.cost += costs.text
  if (typeof value !== 'object' || value === null) return
  if (depth === maxDepth) throw tooDeep()
  const isList = Array.isArray(value)
  const items: unknown[] = isList ? value : Object.values(value)
  contents.cost += costs.container + items.length * (isList ? costs.item : costs.member)
  if (!isList) contents.members += items.length
  for (const item of items) count(item, contents, depth + 1)
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
 * Counts the members of all objects in a JSON text, repeated names included, in one pass over its bytes.
 * Throws GatewayError 400 if it is nested too deeply, 413 if its values cost more than `maxCost`, before any
 * object is made of it. The text need not be valid JSON.
 */
export function countMembers (bytes: Uint8Array, maxCost = maxJsonCost): number {
  const marks: Marks = { quote: -1, backslash: -1, escapes: 0 }
  let members = 0
  let depth = 0
  let cost = 0
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        at = stringEnd(bytes, at, marks) - 1
        cost += costs.text + marks.escapes
        break
      case comma:
        cost += costs.item
        break
      case colon:
        members++
        cost += costs.member
        break
      case openBrace:
      case openBracket:
        cost += costs.container
        if (++depth > maxDepth) throw tooDeep()
        break
      case closeBrace:
      case closeBracket:
        depth--
        break
    }
    if (cost > maxCost) throw tooMany()
  }
  return members
}

/** The next quote and backslash at or after a place in the bytes, and the cost of the last text's escapes. */
interface Marks { quote: number, backslash: number, escapes: number }

/** The number of bytes to look at here before the system's search is called, which costs as much. */
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
