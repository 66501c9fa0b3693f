import type { GatewayError } from '../../shared/errors.ts'

/** Fields of chat, and what they are called here. */
const names: readonly (readonly [RegExp, string])[] = [
  [/^messages\b.*/, 'input'],
  [/^max_(completion_)?tokens$/, 'max_output_tokens'],
  [/^reasoning_effort$/, 'reasoning.effort'],
  [/^verbosity$/, 'text.verbosity'],
  [/^response_format\.json_schema\b/, 'text.format'],
  [/^response_format\b/, 'text.format'],
  [/^(tools\[\d+\])\.function\b/, '$1'],
  [/^tool_choice\.function\b/, 'tool_choice'],
  [/^logprobs$/, 'top_logprobs']
]

/** The name that the client knows for a field of chat. */
function responseParam (param: string): string {
  const found = names.find(([pattern]) => pattern.test(param))
  return found === undefined ? param : param.replace(found[0], found[1])
}

/** The error with the field that the client has set, where it names one of chat. */
export function withResponseParam (error: GatewayError): GatewayError {
  if (error.param === null) return error
  const param = responseParam(error.param)
  if (param === error.param) return error
  return error.withParam(param, error.message.replaceAll(`'${error.param}'`, `'${param}'`))
}
