import { isObject, isText, type JsonObject } from '../shared/json.ts'

/**
 * Removes from a parsed body, in place, the null members that its schema declares optional but not null: many
 * clients send every field that they know. Returns whether there were any. Members without a schema, such as
 * those of a function's parameters, stay as they are.
 */
export function dropNulls (value: unknown, schema: unknown): boolean {
  if (!isObject(schema)) return false
  if (Array.isArray(value)) return value.map(item => dropNulls(item, schema.items)).includes(true)
  if (!isObject(value)) return false
  const ofBranch = dropNulls(value, branchFor(value, schema))
  return dropMembers(value, schema) || ofBranch
}

function dropMembers (value: JsonObject, { properties, required = [] }: JsonObject): boolean {
  let hasDropped = false
  for (const [name, schema] of isObject(properties) ? Object.entries(properties) : []) {
    const member = value[name]
    if (member === null) {
      if (takesNull(schema) || (Array.isArray(required) && required.includes(name))) continue
      delete value[name]
      hasDropped = true
    } else if (dropNulls(member, schema)) hasDropped = true
  }
  return hasDropped
}

/** A schema without a type takes any value. */
function takesNull (schema: unknown): boolean {
  const type = isObject(schema) ? schema.type : undefined
  return type === undefined || [type].flat().includes('null')
}

/** The schema that applies to an object in addition: see `schemas/shared/combinators.ts`. */
function branchFor (value: JsonObject, schema: JsonObject): unknown {
  const { oneOf, discriminator, if: condition, then, else: otherwise } = schema
  if (isObject(condition)) return holds(condition, value) ? then : otherwise
  const tag = isObject(discriminator) ? discriminator.propertyName : undefined
  if (!isText(tag) || !Array.isArray(oneOf)) return undefined
  return oneOf.find(branch => hasTag(branch, tag, value[tag]))
}

function holds ({ type = 'object', required = [] }: JsonObject, value: JsonObject): boolean {
  return type === 'object' && [required].flat().every(name => value[String(name)] != null)
}

function hasTag (branch: unknown, tag: string, given: unknown): boolean {
  const properties = isObject(branch) && isObject(branch.properties) ? branch.properties : {}
  const schema = properties[tag]
  if (!isObject(schema)) return false
  return schema.const === given || (Array.isArray(schema.enum) && schema.enum.includes(given))
}
