import type { ExactNumber } from '../../../schemas/shared/combinators.ts'

/** What a schema's type is after `parseExact`: nano-dollars are bigints, exact decimals are numbers. */
export type Received<T> =
  T extends ExactNumber ? number
    : T extends readonly (infer Item)[] ? Received<Item>[]
      : T extends object ? { [Name in keyof T]: Name extends `${string}_nano` ? Exact<T[Name]> : Received<T[Name]> }
        : T

type Exact<T> = T extends number ? bigint : T

/** Parses JSON; integers of fields `*_nano` become bigints, exact if revivers see their text. */
export function parseExact (text: string): unknown {
  return JSON.parse(text, toExact)
}

type Reviver = (name: string, value: unknown, context?: { source?: string }) => unknown

const toExact: Reviver = (name, value, context) => {
  if (typeof value !== 'number' || !name.endsWith('_nano')) return value
  return BigInt(context?.source ?? Math.round(value))
}
