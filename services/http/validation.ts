import { GatewayError, unreadableBody } from '../shared/errors.ts'
import { shownText } from '../shared/shown-text.ts'

/**
 * Options of the server's validator. Bodies are checked and never changed. `verbose` distinguishes integer
 * fields from decimal ones; it also puts the invalid value on the error, so never log such an error.
 */
export const ajvOptions = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allErrors: false,
  discriminator: true,
  allowUnionTypes: true,
  verbose: true,
  // Ajv would compile the meta-schema first, which is two thirds of the time for the schema of a chat
  // request. The test of `/openapi.json` checks all schemas.
  validateSchema: false,
  // Ajv's optimizer takes a third of the compile time and gains nothing after the JIT.
  code: { optimize: false }
} as const

/** The common part of Ajv's error and Fastify's type for it. */
export interface SchemaError {
  keyword: string
  /** JSON Pointer to the invalid value. */
  instancePath: string
  params: Record<string, unknown>
  message?: string
  parentSchema?: unknown
}

/** A 400 that describes what is wrong with `data` in OpenAI's words: message, `param` and `code`. */
export function fromValidation (errors: readonly SchemaError[], data: unknown): GatewayError {
  const error = errors.reduce((deepest, next) => depth(next) > depth(deepest) ? next : deepest, unspecified)
  const { param, value } = locate(data, error.instancePath)
  const describe = faults.get(error.keyword) ?? otherFault
  const fault = describe(error, param, value)
  const details = { code: fault.code, param: fault.param === undefined ? param || null : fault.param }
  return GatewayError.invalidRequest(fault.message, details)
}

/** A value as quoted in a message, shortened to a few words. */
export function quote (value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? String(value)
  return shownText(text, maxQuoted)
}

interface Fault { message: string, code: string | null, param?: string | null }
type Describe = (error: SchemaError, param: string, value: unknown) => Fault

const maxQuoted = 64
const maxParam = 256
const unspecified: SchemaError = { keyword: '', instancePath: '', params: {} }

// The deepest error is the most specific; among equals the first, because unions repeat their branches'
// errors.
const depth = ({ keyword, instancePath }: SchemaError): number =>
  keyword === '' ? 0 : instancePath.split('/').length

const noModel: Fault = { message: 'you must provide a model parameter', code: null, param: null }

const faults = new Map<string, Describe>(Object.entries<Describe>({
  required: ({ params }, parent) => {
    const param = join(parent, String(params.missingProperty))
    if (param === 'model') return noModel
    return { message: `Missing required parameter: '${param}'.`, code: 'missing_required_parameter', param }
  },
  type: ({ params }, param, value) => {
    if (param === '' && value === undefined) return { message: unreadableBody, code: null }
    const subject = param === '' ? 'the request body' : `'${param}'`
    const expected = expectedTypes([params.type].flat())
    return {
      message: `Invalid type for ${subject}: expected ${expected}, but got ${typeName(value)} instead.`,
      code: 'invalid_type'
    }
  },
  enum: ({ params }, _param, value) => unsupportedValue(value, [params.allowedValues].flat()),
  const: ({ params }, _param, value) => unsupportedValue(value, [params.allowedValue]),
  maximum: outOfRange('above_max_value', 'above maximum value', '<='),
  minimum: outOfRange('below_min_value', 'below minimum value', '>='),
  exclusiveMaximum: outOfRange('above_max_value', 'above maximum value', '<'),
  exclusiveMinimum: outOfRange('below_min_value', 'below minimum value', '>'),
  maxItems: wrongLength('array', 'maximum'),
  minItems: wrongLength('array', 'minimum'),
  maxLength: wrongLength('string', 'maximum'),
  minLength: wrongLength('string', 'minimum'),
  pattern: ({ params }, param) => ({
    message: `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '${params.pattern}'.`,
    code: 'invalid_value'
  }),
  additionalProperties: ({ params }, parent) => {
    const param = join(parent, String(params.additionalProperty))
    return { message: `Unknown parameter: '${param}'.`, code: 'unknown_parameter', param }
  }
}))

function otherFault ({ message }: SchemaError, param: string): Fault {
  return { message: `Invalid value for '${param}': ${message ?? 'not allowed'}.`, code: 'invalid_value' }
}

function unsupportedValue (value: unknown, allowed: readonly unknown[]): Fault {
  const names = allowed.filter(name => name !== null).map(name => `'${name}'`)
  return { message: `Invalid value: '${quote(value)}'. Supported values are: ${list(names)}.`, code: 'invalid_value' }
}

function outOfRange (code: string, words: string, comparison: string): Describe {
  return ({ params, parentSchema }, param, value) => {
    const kind = typesOf(parentSchema).includes('integer') ? 'integer' : 'decimal'
    return {
      message: `Invalid '${param}': ${kind} ${words}. Expected a value ${comparison} ${params.limit}, but got ${quote(value)} instead.`,
      code: `${kind}_${code}`
    }
  }
}

function wrongLength (kind: 'array' | 'string', bound: 'minimum' | 'maximum'): Describe {
  const article = kind === 'array' ? 'an' : 'a'
  return ({ params }, param, value) => {
    if (param === 'model' && value === '') return noModel
    const length = Array.isArray(value) || typeof value === 'string' ? value.length : 0
    const empty = length === 0 && bound === 'minimum'
    const words = empty ? `empty ${kind}` : `${kind} too ${bound === 'maximum' ? 'long' : 'short'}`
    const got = empty ? `an empty ${kind}` : `${article} ${kind} with length ${length}`
    return {
      message: `Invalid '${param}': ${words}. Expected ${article} ${kind} with ${bound} length ${params.limit}, but got ${got} instead.`,
      code: empty ? `empty_${kind}` : `${kind}_${bound === 'maximum' ? 'above_max' : 'below_min'}_length`
    }
  }
}

/** Follows a JSON Pointer into `data`: the place in OpenAI's notation, `messages[0].role`, and its value. */
function locate (data: unknown, pointer: string): { param: string, value: unknown } {
  let param = ''
  let value = data
  for (const segment of pointer.split('/').slice(1)) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    param = Array.isArray(value) ? `${param}[${key}]` : join(param, key)
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  }
  return { param: cut(param), value }
}

const join = (parent: string, key: string): string => cut(parent === '' ? key : `${parent}.${key}`)
const cut = (param: string): string => shownText(param, maxParam)

const typeNames: Readonly<Record<string, string>> = {
  number: 'a decimal',
  integer: 'an integer',
  string: 'a string',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array'
}

function expectedTypes (types: readonly unknown[]): string {
  const names = types.filter(type => type !== 'null').map(type => typeNames[String(type)] ?? String(type))
  return names.length > 1 ? `one of ${names.join(' or ')}` : names[0] ?? 'null'
}

function typeName (value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number'
  return typeNames[typeof value] ?? typeof value
}

function typesOf (schema: unknown): unknown[] {
  return typeof schema === 'object' && schema !== null && 'type' in schema ? [schema.type].flat() : []
}

function list (names: readonly string[]): string {
  return names.length < 3 ? names.join(' and ') : `${names.slice(0, -1).join(', ')}, and ${names.at(-1)}`
}
