import { UpstreamError } from '../shared/errors.ts'

// What a refusal is about, by its status, code and words.

/**
 * Whether the provider serves such a request of the model in its Responses API alone, like OpenAI tools with
 * reasoning since gpt-5.4: "Please use /v1/responses instead." Source: openai/openai-openapi#541.
 */
export function isServedElsewhere ({ kind, message }: UpstreamError): boolean {
  const isRefusal = kind === 'bad_request' || kind === 'not_found'
  return isRefusal && /\bv1\/responses\b/.test(message) && /\buse\b|only supported/i.test(message)
}

/** Whether the provider lacks the model, rather than something else that the request names. */
export function isMissingModel ({ kind, message, details: { code } }: UpstreamError): boolean {
  return kind === 'not_found' && (code === 'model_not_found' || isAboutModel(message))
}

/** Whether a message contains the word outside quoted names, which the client may choose. */
function isAboutModel (message: string): boolean {
  return /(?<![\w-])models?(?![\w.-])/i.test(message.replace(/(["'`])[^"'`]{0,200}\1/g, '')) && !/\bfiles?\b/i.test(message)
}

/** For how long a server that lacks an endpoint is not called there again. */
export const lacksEndpointMs = 10 * 60_000

/** Whether a server has no Responses API, or the operator's key may not use it. */
export function lacksResponses (error: unknown): boolean {
  if (!(error instanceof UpstreamError) || isMissingModel(error)) return false
  const { message, details: { status } } = error
  // OpenAI's restricted keys name endpoints: "Missing scopes: api.responses.write."
  if (status === 401 || status === 403) return message.includes('Missing scopes:') && message.includes('api.responses.')
  return status === 404 || status === 405
}
