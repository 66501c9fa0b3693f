import type { UpstreamErrorKind } from '../../shared/errors.ts'

/** The kind of error by HTTP status, for errors without a known code. */
export const kindByStatus: Readonly<Record<number, UpstreamErrorKind>> = {
  400: 'bad_request',
  401: 'auth',
  402: 'quota',
  403: 'auth',
  404: 'not_found',
  408: 'timeout',
  413: 'too_large',
  422: 'bad_request',
  429: 'rate',
  503: 'overloaded',
  504: 'timeout',
  529: 'overloaded'
}

/** The same for OpenAI-compatible servers: 498 is Groq's "capacity exceeded". */
export const kindByCommonStatus: typeof kindByStatus = { ...kindByStatus, 498: 'overloaded' }
