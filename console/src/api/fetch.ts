import { session, endSession } from '../session.ts'
import { ApiError, errorOf } from './error.ts'
import { parseExact } from './received.ts'

export type Query = Readonly<Record<string, string | undefined>>

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  query?: Query
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal | undefined
}

/** Calls the gateway with the session and resolves with a successful response. Throws ApiError. */
export async function send (path: string, { method = 'GET', query = {}, body, headers = {}, signal }: Call = {}): Promise<Response> {
  const isJson = body !== undefined
  const response = await fetch(withQuery(path, query), {
    method,
    credentials: 'same-origin',
    headers: {
      ...isJson && { 'content-type': 'application/json' },
      ...session.value !== null && { 'x-csrf-token': session.value.csrf_token },
      ...headers
    },
    ...isJson && { body: JSON.stringify(body) },
    ...signal !== undefined && { signal }
  }).catch(error => {
    if (signal?.aborted === true) throw error
    throw new ApiError(0, 'The gateway cannot be reached. Check that it runs, then try again.')
  })
  if (response.ok) return response
  const error = errorOf(response.status, await response.text(), response.headers.get('x-request-id'))
  // A wrong key that was typed says nothing about the session.
  if (error.status === 401 && !path.startsWith('/console/session') && session.value !== null) endSession()
  throw error
}

/** Calls the gateway and resolves with the answer's JSON. Throws ApiError. */
export async function call<Answer> (path: string, options: Call = {}): Promise<Answer> {
  const response = await send(path, options)
  return parseExact(await response.text()) as Answer
}

/** The path with the parameters that have a value. */
export function withQuery (path: string, query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
