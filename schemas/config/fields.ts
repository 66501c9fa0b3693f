/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */
import { Type } from '@sinclair/typebox'
import type {
  Static, TArray, TBoolean, TInteger, TLiteral, TNumber, TObject, TOptional, TSchema, TString, TUnion
} from '@sinclair/typebox'

export const strict = { additionalProperties: false } as const
export const dayMs = 86_400_000

/** Marks an amount of money in a schema; a symbol, so that the published JSON Schema does not show it. */
export const moneyUnit = Symbol('money unit')

/** Money in code: integer nano-USD, or integer pico-USD per token for a price per million tokens. */
export type MoneyUnit = 'Nano' | 'Pico'

export interface TMoney<Unit extends MoneyUnit = MoneyUnit> extends TUnion<[TNumber, TString]> {
  [moneyUnit]: Unit
}

/** An amount as `nanoFromUsd` reads it, or the `${NAME}` that stands for it. */
const moneyPattern = '^((\\d{1,12}|[1-9]\\d{0,2}(,\\d{3}){1,3})(\\.\\d{1,30})?|.*\\$\\{.*)$'

/** An amount in USD per `unit`; its name in code ends in `Nano`. */
export function usd (unit: string, options: { default?: number } = {}): TMoney<'Nano'> {
  return money('Nano', `USD per ${unit}, with at most 9 decimals.`, options)
}

/** A price in USD per million tokens; its name in code ends in `Pico`. */
export function usdPerMillion (tokens: string): TMoney<'Pico'> {
  return money('Pico', `USD per 1 million ${tokens}, with at most 6 decimals.`)
}

function money<Unit extends MoneyUnit> (
  unit: Unit, description: string, options: { default?: number } = {}
): TMoney<Unit> {
  const schema = Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: moneyPattern })], {
    description, examples: [0.15], ...options
  })
  return { ...schema, [moneyUnit]: unit }
}

export function oneOf<const Values extends readonly string[]> (
  values: Values, options: { default?: Values[number], description: string }
): TUnion<TLiteral<Values[number]>[]> {
  return Type.Union(values.map((value: Values[number]) => Type.Literal(value)), options)
}

export function milliseconds (description: string, defaultMs?: number): TInteger {
  return count(description, 1, dayMs, defaultMs)
}

export function count (description: string, minimum: number, maximum: number, value?: number): TInteger {
  return Type.Integer({ minimum, maximum, description, ...(value !== undefined && { default: value }) })
}

export function flag (description: string, value?: boolean): TBoolean {
  return Type.Boolean({ description, ...(value !== undefined && { default: value }) })
}

export function share (description: string): TNumber {
  return Type.Number({ minimum: 0, maximum: 1, description })
}

/**
 * The configuration as code reads it: keys in camelCase, money as an integer with its unit at the end of the
 * key, null for an absent optional key. A key with a default is required: defaults are filled in before the
 * file is checked.
 */
export type Parsed<Schema extends TSchema> =
  Schema extends TObject<infer Properties> ? {
    [Key in keyof Properties & string as ParsedKey<Key, Properties[Key]>]:
    Parsed<Properties[Key]> | (Properties[Key] extends TOptional<TSchema> ? null : never)
  } :
    Schema extends TArray<infer Item> ? Parsed<Item>[] :
      Schema extends TMoney ? number :
        Static<Schema>

type ParsedKey<Key extends string, Schema> =
  Schema extends TMoney<infer Unit> ? `${CamelCase<Key>}${Unit}` : CamelCase<Key>

type CamelCase<Key extends string> =
  Key extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Key

/** `Fields` with the fields named by `Keys` made non-null. */
export type Known<Fields, Keys extends keyof Fields> =
  Omit<Fields, Keys> & { [Key in Keys]: NonNullable<Fields[Key]> }
