import { Ajv, type AnySchema } from 'ajv'
import t from 'tap'
import { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { ajvOptions, fromValidation } from '../../../services/http/validation.ts'
import type { GatewayError } from '../../../services/shared/errors.ts'
import { chatRequest, refusedChat } from '../../schemas/corpus.ts'

const ajv = new Ajv(ajvOptions)

function refusalOf (schema: AnySchema, data: unknown): GatewayError {
  const validate = ajv.compile(schema)
  if (validate(data)) throw new Error(`was accepted: ${JSON.stringify(data)}`)
  return fromValidation(validate.errors ?? [], data)
}

t.test('a refused chat request says which field is wrong in OpenAI\'s words', async t => {
  for (const { patch, param, code, message } of refusedChat) {
    const error = refusalOf(ChatCompletionRequest, chatRequest(patch))
    const title = JSON.stringify(patch)
    t.equal(error.status, 400, title)
    t.strictSame(error.toBody().error, { message: error.message, type: 'invalid_request_error', param, code }, title)
    if (message !== undefined) t.equal(error.message, message, title)
  }
})

t.test('a body that is no object is refused as a whole', async t => {
  const array = refusalOf(ChatCompletionRequest, [])
  t.equal(array.message, 'Invalid type for the request body: expected an object, but got an array instead.')
  t.match(array, { param: null, code: 'invalid_type' })
  t.equal(refusalOf(ChatCompletionRequest, null).message,
    'Invalid type for the request body: expected an object, but got null instead.')
  const absent = refusalOf(ChatCompletionRequest, undefined)
  t.match(absent, { message: /^We could not parse the JSON body of your request\./, param: null, code: null })
})

t.test('schemas may use the other keywords too', async t => {
  const cases: [AnySchema, unknown, string, string, string][] = [
    [{ additionalProperties: false }, 1, 'a.x', 'unknown_parameter', "Unknown parameter: 'a.x'."],
    [{ const: 'b' }, 'c', 'a', 'invalid_value', "Invalid value: 'c'. Supported values are: 'b'."],
    [{ minLength: 1 }, '', 'a', 'empty_string', "Invalid 'a': empty string. Expected a string with minimum " +
      'length 1, but got an empty string instead.'],
    [{ minLength: 3 }, 'xy', 'a', 'string_below_min_length', "Invalid 'a': string too short. Expected a string " +
      'with minimum length 3, but got a string with length 2 instead.'],
    [{ minItems: 2 }, [1], 'a', 'array_below_min_length', "Invalid 'a': array too short. Expected an array with " +
      'minimum length 2, but got an array with length 1 instead.'],
    [{ exclusiveMinimum: 0 }, 0, 'a', 'decimal_below_min_value', "Invalid 'a': decimal below minimum value. " +
      'Expected a value > 0, but got 0 instead.'],
    [{ pattern: '^\\d+$' }, 'x', 'a', 'invalid_value', "Invalid 'a': string does not match pattern. Expected a " +
      "string that matches the pattern '^\\d+$'."],
    [{ multipleOf: 16 }, 17, 'a', 'invalid_value', "Invalid value for 'a': must be multiple of 16."]
  ]
  const types: Record<string, string> = { string: 'string', number: 'number', object: 'array' }
  for (const [rule, value, param, code, message] of cases) {
    const closed = typeof rule === 'object' && 'additionalProperties' in rule
    const type = closed ? 'object' : types[typeof value]
    const schema = { type: 'object', properties: { a: Object.assign({ type }, rule) } }
    const { error } = refusalOf(schema, { a: closed ? { x: value } : value }).toBody()
    t.strictSame(error, { message, type: 'invalid_request_error', param, code })
  }
})

t.test('of several errors the deepest is reported', async t => {
  const schema = {
    type: 'object',
    properties: {
      image: { anyOf: [{ type: 'null' }, { type: 'object', required: ['url'], properties: { url: { type: 'string' } } }] }
    }
  }
  t.match(refusalOf(schema, { image: { url: 5 } }), { param: 'image.url', code: 'invalid_type' })
})

t.test('what a client sent is quoted only in part', async t => {
  const long = 'x'.repeat(100_000)
  const value = refusalOf(ChatCompletionRequest, chatRequest({ reasoning_effort: long }))
  t.ok(value.message.length < 300)
  t.match(value.message, /^Invalid value: 'x{64}…'\. Supported/)
  const key = refusalOf(ChatCompletionRequest, chatRequest({ metadata: { [long]: 1 } }))
  t.ok(key.message.length < 400)
  t.ok((key.param ?? '').length < 300)
})

t.test('no error at all still makes an answer', async t => {
  t.match(fromValidation([], {}), { status: 400, code: 'invalid_value', param: null })
})
