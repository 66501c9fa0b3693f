/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */
import { Type } from '@sinclair/typebox'
import type { TLiteral, TUnion } from '@sinclair/typebox'

export const strict = { additionalProperties: false } as const
export const dayMs = 86_400_000

/** The plain decimal that an amount of money is, or the `${NAME}` that stands for it. */
const moneyPattern = '^(\\d{1,12}(\\.\\d{1,30})?|.*\\$\\{.*)$'

export function oneOf<const Values extends readonly string[]> (
  values: Values, options: { default?: string, description: string }
): TUnion<TLiteral<Values[number]>[]> {
  return Type.Union(values.map((value: Values[number]) => Type.Literal(value)), options)
}

export function milliseconds (description: string, defaultMs: number) {
  return Type.Integer({ minimum: 1, maximum: dayMs, default: defaultMs, description })
}

export function usd (unit: string, decimals: number) {
  return Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: moneyPattern })], {
    description: `USD per ${unit}; at most ${decimals} decimals.`,
    examples: [0.15]
  })
}

export function flag (description: string, otherwise: boolean) {
  return Type.Boolean({ default: otherwise, description })
}

export function share (description: string) {
  return Type.Number({ minimum: 0, maximum: 1, description })
}
