import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { RawAnswer } from './connection.ts'
import { providerKey } from './provider.ts'
import type { ApiDocument, FuzzRequest } from './requests.ts'

/** What is wrong with an answer; null: nothing. */
export type Verdict = (request: FuzzRequest, answer: RawAnswer) => string | null

/** Statuses of failures that the gateway reports of providers, and of its own only with these codes. */
const providerStatuses = new Set([502, 503, 504, 529])
const maxChecked = 300_000

/** Creates the judge of the answers to a document's operations. */
export function createVerdict (document: ApiDocument): Verdict {
  // Without `discriminator`, whose mapping the library refuses: the branches say the same.
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ ...document, $id: 'document' })
  const compiled = new WeakMap<object, ValidateFunction>()

  function schemaProblem (
    { operation }: FuzzRequest, { status, body }: RawAnswer, type: string
  ): string | null {
    const response = operation.responses[status] ?? operation.responses[`${Math.floor(status / 100)}XX`]
    if (response === undefined) return 'a status that is not documented'
    if (body.length === 0 || body.length > maxChecked) return null
    const content = response.content?.[type]
    if (content === undefined) return `${type} is not documented`
    if (content.schema === undefined || type !== 'application/json') return null
    const check = compiled.get(content.schema) ?? ajv.compile(rooted(content.schema))
    compiled.set(content.schema, check)
    return check(JSON.parse(body.toString())) ? null : `${JSON.stringify(check.errors?.slice(0, 2))}`
  }

  return (request, answer) => {
    const { status, headers, body } = answer
    if (answer.problem !== null && !(answer.problem === 'cut' && status === 200)) return `HTTP: ${answer.problem}`
    const leak = headersOf(answer).includes(providerKey) || (status >= 400 && body.includes(providerKey))
    if (leak) return 'the key of a provider'
    if (headers.has('x-injected')) return 'a header of a provider\'s own'
    if (headersOf(answer).length > 12_000) return 'headers without a bound'
    const [type = ''] = (headers.get('content-type') ?? '').split(';')
    if (status >= 500) {
      const own = serverProblem(request, answer)
      if (own !== null) return own
    }
    if (status >= 400) return errorProblem(request, answer, type)
    if (type === 'text/event-stream') return (request.surface.streamProblem ?? streamProblem)(body.toString())
    if (answer.problem !== null) return `HTTP: ${answer.problem}`
    const isUnchecked = request.method === 'head' || request.surface.isNative === true || status >= 300
    return isUnchecked ? null : schemaProblem(request, answer, type)
  }
}

/** A schema whose references are those of the document. */
function rooted (schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'))
}

const headersOf = ({ headers }: RawAnswer): string => [...headers].map(header => header.join()).join()

/** Whether a 5xx is the gateway's own fault. */
function serverProblem ({ model, path, bytes }: FuzzRequest, { status, body }: RawAnswer): string | null {
  const text = body.toString().slice(0, 400)
  if (!providerStatuses.has(status)) return `${status} ${text}`
  // The sandbox fails only on request, and everything else has no provider.
  const isSandbox = model !== null && /^(sandbox|m-|v-)/.test(model) && !bytes.includes('"fallbacks"')
  const isAsked = bytes.includes('sandbox:')
  // The operator's requests change accounts meanwhile.
  const isBusy = /server_is_overloaded|deadline_exceeded|account_locked/.test(text)
  return !path.startsWith('/v1/') || (isSandbox && !isAsked && !isBusy) ? `${status} ${text}` : null
}

function errorProblem ({ surface }: FuzzRequest, { body, status }: RawAnswer, type: string): string | null {
  if (body.length > 20_000) return `an error of ${body.length} bytes`
  if (type !== 'application/json') return `an error as '${type}': ${status} ${body.toString().slice(0, 200)}`
  const value = parsed(body.toString())
  return (surface.errorProblem ?? openAiErrorProblem)(value)
}

/** What is wrong with an error in OpenAI's shape. */
export function openAiErrorProblem (value: unknown): string | null {
  const error = memberOf(value, 'error')
  const isText = (name: string) => typeof memberOf(error, name) === 'string'
  const isRight = isText('message') && memberOf(error, 'message') !== '' && isText('type') &&
    ['param', 'code'].every(name => isText(name) || memberOf(error, name) === null) && Object.keys(Object(value)).length === 1
  return isRight ? null : `an error without OpenAI's shape: ${JSON.stringify(value)?.slice(0, 300)}`
}

function streamProblem (text: string): string | null {
  const blocks = text.split('\n\n').filter(block => block.replace(/^:.*$/gm, '').trim() !== '')
  for (const [at, block] of blocks.entries()) {
    const data = block.split('\n').filter(line => line.startsWith('data:')).map(line => line.slice(5).trimStart()).join('\n')
    const isLast = at === blocks.length - 1
    if (data === '[DONE]') {
      if (!isLast) return 'events after [DONE]'
      return null
    }
    const value = parsed(data)
    if (value === undefined || typeof value !== 'object' || value === null) return `an event that is no object: ${data.slice(0, 200)}`
    if ('error' in value) {
      if (JSON.stringify(value).includes(providerKey)) return 'the key of a provider in a stream\'s error'
      return openAiErrorProblem({ error: value.error }) ?? (isLast ? null : 'events after an error')
    }
    if (!Array.isArray(memberOf(value, 'choices'))) return `an event without choices: ${data.slice(0, 200)}`
  }
  return 'a stream without an end'
}

function parsed (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function memberOf (value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
