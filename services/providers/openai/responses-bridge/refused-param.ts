import { UpstreamError } from '../../../shared/errors.ts'

/** Fields of a request for a response, and what they are called in a chat. */
const names: readonly (readonly [RegExp, string])[] = [
  // Items have other places than the messages that they come from.
  [/^input\b.*/, 'messages'],
  [/^max_output_tokens$/, 'max_completion_tokens'],
  [/^reasoning(\.effort)?$/, 'reasoning_effort'],
  [/^text\.verbosity$/, 'verbosity'],
  [/^text\.format\.(name|schema|strict|description)\b/, 'response_format.json_schema.$1'],
  [/^text(\.format)?$/, 'response_format'],
  [/^(tools\[\d+\])\.(name|description|parameters|strict)\b/, '$1.function.$2'],
  [/^tool_choice\.name$/, 'tool_choice.function.name']
]

/** A refusal that names the field of the chat that was translated. */
export function withChatParam (refusal: UpstreamError): UpstreamError {
  const { kind, sent, message, details } = refusal
  const { param } = details
  const found = names.find(([pattern]) => pattern.test(param ?? ''))
  if (param == null || found === undefined) return refusal
  const renamed = param.replace(found[0], found[1])
  return new UpstreamError(kind, sent, message.replaceAll(`'${param}'`, `'${renamed}'`), { ...details, param: renamed })
}
