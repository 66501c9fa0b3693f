import { createHash } from 'node:crypto'
import type { AnyRequest, ClientApi } from '../client-api.ts'

export interface KeyedRequest {
  /** The account that pays; responses never pass from one to another. */
  account: string
  endpoint: ClientApi<AnyRequest>['name']
  request: object
  /** What the response depends on beside the request. */
  more?: unknown
}

/** Fields on which no response depends. */
const idle = new Set(['user', 'safety_identifier', 'prompt_cache_key'])

/** A digest of a request that does not depend on the order of its members. */
export function requestKey ({ account, endpoint, request, more }: KeyedRequest): string {
  const relevant = Object.entries(request).filter(([name]) => !idle.has(name))
  const parts = [account, endpoint, sorted(Object.fromEntries(relevant))]
  const text = JSON.stringify(more === undefined ? parts : [...parts, sorted(more)])
  return createHash('sha256').update(text).digest('base64')
}

function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  // Pairs, because objects order numeric names on their own.
  const names = Object.keys(value).sort()
  return { pairs: names.map(name => [name, sorted(Reflect.get(value, name))]) }
}

/** Whether the client wants a reproducible response. */
export function isDeterministic (request: { temperature?: number | null, seed?: number | null }): boolean {
  return request.temperature === 0 || request.seed != null
}
