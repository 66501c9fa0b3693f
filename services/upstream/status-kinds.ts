import type { UpstreamErrorKind } from '../shared/errors.ts'

/** What a status means wherever a provider says no more. */
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

/** The same at servers that speak OpenAI's way: 498 is Groq's, whose capacity is used up. */
export const kindByCommonStatus: typeof kindByStatus = { ...kindByStatus, 498: 'overloaded' }
