import fc from 'fast-check'
import type { JsonObject } from '../../../services/shared/json.ts'
import type { Random } from '../../services/billing/ledger/random.ts'
import type { JsonSchema } from '../arbitrary.ts'
import { junkValue, oddNumbers, oddText } from './texts.ts'

/** A schema of the OpenAPI document; `$ref` names one of its components. */
export type DocumentSchema = JsonSchema & { $ref?: string, anyOf?: JsonSchema[], allOf?: JsonSchema[] }

/** Makes values of the schemas of a document. */
export interface Generator {
  /** A value that satisfies the schema, as far as it says. */
  valid (schema: DocumentSchema, random: Random): unknown
}

/** Objects and lists below this depth have only what they must have. */
const maxDepth = 5

/** Creates a generator for the components of an OpenAPI document. */
export function createGenerator (components: Readonly<Record<string, DocumentSchema>>): Generator {
  const texts = new Map<string, readonly string[]>()

  function valid (schema: DocumentSchema, random: Random, depth = 0): unknown {
    const { $ref, anyOf, allOf, oneOf = anyOf, const: constant, enum: choices } = schema
    if ($ref !== undefined) return valid(components[$ref.split('/').at(-1) ?? ''] ?? {}, random, depth + 1)
    if (constant !== undefined) return constant
    if (choices !== undefined) return random.pick(choices)
    if (oneOf !== undefined) return valid(random.pick(oneOf) ?? {}, random, depth)
    if (allOf !== undefined) return Object.assign({}, ...allOf.map(part => valid(part, random, depth)))
    if (schema.then !== undefined && schema.else !== undefined) {
      return valid(random.next() < 0.5 ? schema.then : schema.else, random, depth)
    }
    const type = random.pick([schema.type ?? []].flat())
    return type === undefined ? junkValue(random) : ofType(type, schema, random, depth)
  }

  function ofType (type: string, schema: DocumentSchema, random: Random, depth: number): unknown {
    const { minimum = -1e6, maximum = 1e6, items = {}, minItems = 0, maxItems = Infinity } = schema
    switch (type) {
      case 'null': return null
      case 'boolean': return random.next() < 0.5
      case 'integer': {
        const [least, most] = [Math.ceil(minimum), Math.floor(maximum)]
        return random.pick([least, most, random.integer(least, most)])
      }
      case 'number': return random.pick([minimum, maximum, minimum + random.next() * (maximum - minimum)])
      case 'array': {
        const count = Math.max(minItems, depth > maxDepth ? 0 : Math.min(maxItems, random.integer(0, 3)))
        return Array.from({ length: count }, () => valid(items, random, depth + 1))
      }
      case 'object': return objectOf(schema, random, depth)
      default: return textOf(schema, random)
    }
  }

  function objectOf (schema: DocumentSchema, random: Random, depth: number): JsonObject {
    const { properties = {}, required = [], additionalProperties } = schema
    // A few of the optional fields at a time: all together rarely get past the checks.
    const share = depth === 0 ? random.pick([0, 0.1, 0.3, 0.8]) ?? 0 : depth > maxDepth ? 0 : 0.4
    const names = Object.keys(properties).filter(name => required.includes(name) || random.next() < share)
    const object: JsonObject = {}
    for (const name of names) object[name] = valid(properties[name] ?? {}, random, depth + 1)
    if (typeof additionalProperties !== 'object') return object
    for (let count = random.integer(0, 3); count > 0; count--) {
      object[oddText(random, 20)] = valid(additionalProperties, random, depth + 1)
    }
    return object
  }

  function textOf ({ pattern, minLength = 0, maxLength = Infinity }: DocumentSchema, random: Random): string {
    if (pattern !== undefined) return random.pick(matching(pattern)) ?? ''
    return oddText(random, Math.min(maxLength, 100_000)).padEnd(minLength, 'x')
  }

  /** Some texts that match a pattern; fast-check knows no lookahead, so what one forbids is filtered out. */
  function matching (pattern: string): readonly string[] {
    const known = texts.get(pattern)
    if (known !== undefined) return known
    const simple = new RegExp(pattern.replaceAll(/\(\?![^)]*\)/g, ''))
    const whole = new RegExp(pattern)
    const all = fc.sample(fc.stringMatching(simple), { numRuns: 40, seed: 1 })
    const made = all.filter(text => whole.test(text))
    texts.set(pattern, made)
    return made
  }

  return { valid }
}

type Place = { holder: Record<string, unknown> | unknown[], name: string }

const oddNames = ['__proto__', 'constructor', 'model'] as const

/** Changes a JSON value in some places: values, names, lengths and repetitions. */
export function mutate (value: unknown, random: Random, count: number): unknown {
  const root = { root: structuredClone(value) }
  for (let turn = 0; turn < count; turn++) {
    const place = placeIn(root, random)
    const own: unknown = Reflect.get(place.holder, place.name)
    const kind = random.integer(0, 8)
    if (kind <= 2) Reflect.set(place.holder, place.name, junkValue(random))
    else if (kind === 3) Reflect.set(place.holder, place.name, typeof own === 'string' ? oddText(random) : [own])
    else if (kind === 4) remove(place)
    else if (kind === 5) define(place.holder, random.pick([oddText(random, 300), ...oddNames]) ?? '', own)
    else if (kind === 6 && Array.isArray(own)) {
      Reflect.set(place.holder, place.name, Array(random.integer(2, 300)).fill(own[0]))
    } else if (kind === 7 && typeof own === 'string') Reflect.set(place.holder, place.name, own + oddText(random))
    else {
      const other = placeIn(root, random)
      Reflect.set(place.holder, place.name, Reflect.get(other.holder, other.name))
    }
  }
  return writtenValues(root.root) > maxValues ? value : root.root
}

function placeIn (root: { root: unknown }, random: Random): Place {
  let place: Place = { holder: root, name: 'root' }
  for (let depth = 0; depth < 8; depth++) {
    const value: unknown = Reflect.get(place.holder, place.name)
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return place
    if (depth > 0 && random.next() < 0.35) return place
    place = { holder: value as Place['holder'], name: random.pick(Object.keys(value)) ?? '' }
  }
  return place
}

function remove ({ holder, name }: Place): void {
  if (Array.isArray(holder)) holder.splice(Number(name), 1)
  else Reflect.deleteProperty(holder, name)
}

function define (holder: Place['holder'], name: string, value: unknown): void {
  if (Array.isArray(holder)) return
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true })
}

/** The most values that a mutated value may have when it is written out. */
const maxValues = 300_000

/**
 * How many values JSON would write for a value. One that stands in several places counts in each, so copies
 * of copies grow exponentially. A circular value has no end: Infinity.
 */
function writtenValues (value: unknown, counts = new Map<object, number>()): number {
  if (typeof value !== 'object' || value === null) return 1
  const known = counts.get(value)
  if (known !== undefined) return known
  // Met again before it is counted: it contains itself.
  counts.set(value, Infinity)
  const count = Object.values(value).reduce((sum: number, member) => sum + writtenValues(member, counts), 1)
  counts.set(value, count)
  return count
}

/** Damages a JSON text: numbers, repeated members, missing ends and wrong bytes. */
export function damage (text: string, random: Random): Buffer {
  const bytes = Buffer.from(text)
  const at = random.integer(0, bytes.length)
  switch (random.integer(0, 6)) {
    case 0: return bytes.subarray(0, at)
    case 1: return withByte(bytes, at, random.integer(0, 255))
    case 2: return Buffer.from(text.replace(/\d+/, () => random.pick(oddNumbers) ?? '0'))
    case 3: return Buffer.from(text.replace(/^\{("[^"]*":[^,{[]*),/, (all, one) => `{${one},${all.slice(1)}`))
    case 4: return Buffer.concat([Buffer.from('﻿'), bytes])
    case 5: return Buffer.concat([bytes, bytes])
    default: return Buffer.from(text, 'utf16le')
  }
}

function withByte (bytes: Buffer, at: number, byte: number): Buffer {
  return Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at)])
}
