import type { CustomTypesConfig } from 'pg'
import type { Value } from './store.ts'

/**
 * Returns a value as it is bound. Postgres allows no NUL in text, and neither NUL nor lone surrogates in
 * JSON, so they become U+FFFD. Throws RangeError for a number that is not exact on every engine.
 */
export function toParameter (value: Value): Value {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'number') return value
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    throw new RangeError(`Not a safe number: ${value}`)
  }
  return value
}

/** After an even number of backslashes: NUL, half a pair, or a pair, which is the second group. */
const escapes = /(?<!\\)((?:\\\\)*)(?:(\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2})|\\u0000|\\ud[89a-f][\da-f]{2})/gi

function storableText (text: string): string {
  const plain = text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
  const isJson = plain.startsWith('{') || plain.startsWith('[')
  if (!isJson || !/\\u(?:0000|d[89a-f])/i.test(plain)) return plain
  return plain.replace(escapes, (_, before: string, pair = '\ufffd') => before + pair)
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
