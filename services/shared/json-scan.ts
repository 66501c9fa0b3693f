import { GatewayError } from './errors.ts'

/** Deepest nesting of arrays and objects that a request body may have. */
export const maxDepth = 256

/** Most of what the values of a body may cost together; see `costs`. */
export const maxJsonCost = 2_000_000

/**
 * What parsing and checking one more of each costs, as multiples of an escape in a text: two million of those
 * are as much work as a million tokens in a list, or 125,000 empty objects.
 */
export const costs = { container: 16, member: 16, text: 6, item: 2, escape: 1 }

/** The position of a member of the outermost object in the bytes. `end` is exclusive. */
export interface Member { start: number, keyEnd: number, end: number }

/** What one pass over a body finds. */
export interface JsonScan {
  /** Members of the outermost object; only right if the text is valid JSON. */
  members: Member[]
  cost: number
}

const quote = 0x22
const backslash = 0x5c
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
export function scanJson (bytes: Uint8Array): JsonScan {
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

/** The next quote and backslash at or after a place in the bytes, and how many escapes the last text had. */
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
      if (++marks.escapes > maxJsonCost) throw tooMany()
      at++
    }
    if (marks.quote < at) marks.quote = find(bytes, quote, at)
    if (marks.backslash < at) marks.backslash = find(bytes, backslash, at)
    at = Math.max(at, Math.min(marks.quote, marks.backslash))
  }
  return bytes.length
}

function find (bytes: Uint8Array, byte: number, from: number): number {
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
