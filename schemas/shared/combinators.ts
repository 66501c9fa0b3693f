import { Type, type Static, type TObject, type TSchema, type StringOptions, type TUnsafe } from '@sinclair/typebox'

// Unions are one `type` list or one discriminator instead of `anyOf`, so that a validator reports the wrong
// field and not every branch.

/** A schema of one plain type that also accepts null. */
export function Nullable<Schema extends TSchema> (schema: Schema): TUnsafe<Static<Schema> | null> {
  const values = schema.enum === undefined ? {} : { enum: [...schema.enum, null] }
  return Type.Unsafe<Static<Schema> | null>({ ...schema, ...values, type: [schema.type, 'null'].flat() })
}

/** A decimal number as `JSON.rawJSON` makes it, printed digit by digit: a double could round it. */
export interface ExactNumber { readonly rawJSON: string }

interface DecimalOptions { description?: string, examples?: number[] }

/**
 * An exact decimal number of a response. It has no `type`, because a serializer would turn a number into a
 * double; the OpenAPI document adds it.
 */
export function ExactDecimal (options: DecimalOptions = {}): TUnsafe<ExactNumber> {
  return Type.Unsafe<ExactNumber>({ format: 'decimal', ...options })
}

/** An exact decimal number of a response, or null. */
export function NullableDecimal (options: DecimalOptions = {}): TUnsafe<ExactNumber | null> {
  return Type.Unsafe<ExactNumber | null>({ ...ExactDecimal(options), nullable: true })
}

/** One of the given strings. */
export function StringEnum<const Values extends readonly string[]> (
  values: Values, options: { examples?: Values[number][] } = {}
): TUnsafe<Values[number]> {
  return Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options })
}

/** One of the given strings, or an object of the given schema. */
export function StringEnumOr<const Values extends readonly string[], Schema extends TSchema> (
  values: Values, schema: Schema
): TUnsafe<Values[number] | Static<Schema>> {
  return Type.Unsafe<Values[number] | Static<Schema>>({
    type: ['string', 'object'],
    if: { type: 'string' },
    then: StringEnum(values),
    // Neither holds for null, which `Nullable` may allow.
    else: { if: { type: 'object' }, then: schema }
  })
}

/** A string, or at least one item of the given schema. */
export function StringOrItems<Item extends TSchema> (
  item: Item, limits: { maxItems?: number } = {}
): TUnsafe<string | Static<Item>[]> {
  return Type.Unsafe<string | Static<Item>[]>({ type: ['string', 'array'], minItems: 1, ...limits, items: item })
}

/** A string, or any number of items of the given schema. */
export function ItemsOrString<Item extends TSchema> (item: Item): TUnsafe<string | Static<Item>[]> {
  return Type.Unsafe<string | Static<Item>[]>({ type: ['string', 'array'], items: item })
}

/** An object with any keys whose values all follow the given schema. */
export function MapOf<Value extends TSchema> (
  value: Value, options: { examples?: Record<string, Static<Value>>[] } = {}
): TUnsafe<Record<string, Static<Value>>> {
  return Type.Unsafe<Record<string, Static<Value>>>({ type: 'object', additionalProperties: value, ...options })
}

/** Objects with a discriminator, a string property that is checked first so that its error names it. */
export function Tagged<Branches extends TObject[]> (
  tag: string, branches: [...Branches]
): TUnsafe<Static<Branches[number]>> {
  const values = branches.flatMap(({ properties }) => properties[tag]?.enum ?? [properties[tag]?.const])
  return Type.Unsafe<Static<Branches[number]>>({
    type: 'object',
    required: [tag],
    properties: { [tag]: StringEnum(values) },
    discriminator: { propertyName: tag },
    oneOf: branches
  })
}

/** A string, or an object of the given schema; `options` are those of the string. */
export function StringOr<Schema extends TSchema> (
  schema: Schema, options: StringOptions
): TUnsafe<string | Static<Schema>> {
  return Type.Unsafe<string | Static<Schema>>({
    ...options, type: ['string', 'object'], if: { type: 'object' }, then: schema
  })
}
