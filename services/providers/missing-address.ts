import { UpstreamError } from '../shared/errors.ts'
import type { UpstreamResponse } from './upstream/response.ts'

/**
 * What servers and proxies send for a path that they do not have: nothing, "404 page not found", FastAPI's
 * `{"detail": "Not Found"}`, OpenAI's "Invalid URL (POST /chat/completions)", Groq's "Unknown request URL",
 * Kong's "no Route matched with those values", Express's "Cannot POST /chat/completions".
 */
const aboutPath = new RegExp([
  'the provider answered with status 404\\.', '(404 )?((page|file|path|route|url|endpoint|resource) )?not found\\.?',
  'no route matched.*', '(invalid|unknown)( request)? (url|path|endpoint|route)\\b.*', 'cannot (get|post) /.*'
].map(pattern => `^${pattern}$`).join('|'), 'is')

/** The error; if its 404 is about the address and not about a model, with that address. */
export function orMissingAddress (
  error: UpstreamError, { url: missingUrl = '' }: Pick<UpstreamResponse, 'url'>
): UpstreamError {
  const { kind, sent, message, details } = error
  const isUnnamed = kind === 'not_found' && details.status === 404 && details.code !== 'model_not_found'
  if (!isUnnamed || !aboutPath.test(message.trim())) return error
  return new UpstreamError(kind, sent, message, { ...details, missingUrl })
}
