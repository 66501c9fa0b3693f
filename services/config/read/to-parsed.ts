import { KindGuard, type TSchema } from '@sinclair/typebox'
import { moneyUnit, type MoneyUnit, type Parsed } from '../../../schemas/config/fields.ts'
import { nanoFromUsd, picoFromUsdPerMillion } from '../../shared/money.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

/** The position of a value in the file, for the exact digits of money. */
export interface Place { document: YamlDocument, path: Path }

/** Converts a checked part of the file to its form in code. Reports money with too many digits. */
export function toParsed<Schema extends TSchema> (
  schema: Schema, value: unknown, place?: Place
): Parsed<Schema>
export function toParsed (schema: TSchema, value: unknown, place?: Place): unknown {
  if (isMoney(schema)) return readMoney(schema[moneyUnit], value, place)
  if (KindGuard.IsArray(schema) && Array.isArray(value)) {
    return value.map((item, index) => toParsed(schema.items, item, at(place, index)))
  }
  if (!KindGuard.IsObject(schema) || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(schema.properties).map(([key, property]) => {
    const field: unknown = Reflect.get(value, key)
    const name = camelCase(key) + (isMoney(property) ? property[moneyUnit] : '')
    return [name, field === undefined ? null : toParsed(property, field, at(place, key))]
  }))
}

function at (place: Place | undefined, step: string | number): Place | undefined {
  return place && { document: place.document, path: [...place.path, step] }
}

function isMoney (schema: TSchema): schema is TSchema & { [moneyUnit]: MoneyUnit } {
  return moneyUnit in schema
}

function camelCase (key: string): string {
  return key.replace(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase())
}

const largestUsd = Math.floor(Number.MAX_SAFE_INTEGER / 1e9)

function readMoney (unit: MoneyUnit, value: unknown, place: Place | undefined): number {
  const text = place?.document.exact(place.path) ?? String(value)
  try {
    const amount = unit === 'Nano' ? nanoFromUsd(text) : picoFromUsdPerMillion(text)
    if (amount >= 0) return amount
  } catch (error) {
    // Its message quotes the text, which may come from the environment, so it is not shown.
    if (!(error instanceof RangeError)) throw error
  }
  const decimals = unit === 'Nano' ? 9 : 6
  const message = `must be a decimal number such as 0.15 or 1,250.00, from 0 to ${largestUsd} with at most ${decimals} decimals`
  place?.document.report(place.path, message)
  return 0
}
