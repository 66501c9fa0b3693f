import type { CustomTypesConfig } from 'pg'
import type { Value } from './store.ts'

/**
 * Returns a value as it is bound: Postgres has no NUL in texts, nor in JSON, so it becomes U+FFFD. Throws
 * RangeError for a number that is not exact on every engine.
 */
export function toParameter (value: Value): Value {
  if (typeof value === 'string') return withoutNul(value)
  if (typeof value !== 'number') return value
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    throw new RangeError(`Not a safe number: ${value}`)
  }
  return value
}

const escapedNul = /(?<!\\)((?:\\\\)*)\\u0000/g

function withoutNul (text: string): string {
  const plain = text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
  const isJson = plain.startsWith('{') || plain.startsWith('[')
  return isJson && plain.includes('\\u0000') ? plain.replace(escapedNul, '$1\\ufffd') : plain
}

/** Parses columns as SQLite returns them: numbers for numbers, 1 and 0 for booleans, else text. */
export const columnTypes: CustomTypesConfig = { getTypeParser: (type: number) => parsers.get(type) ?? String }

// Source: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
const typeIds = { bool: 16, int8: 20, int2: 21, int4: 23, oid: 26, float4: 700, float8: 701, numeric: 1700 }

const parsers = new Map<number, (text: string) => Value>([
  [typeIds.bool, (text) => text === 't' ? 1 : 0],
  [typeIds.int2, Number],
  [typeIds.int4, Number],
  [typeIds.oid, Number],
  [typeIds.float4, Number],
  [typeIds.float8, Number],
  [typeIds.int8, toSafeNumber],
  [typeIds.numeric, toSafeNumber]
])

function toSafeNumber (text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new RangeError(`Not a safe integer: ${text}`)
  return value
}
