import { LRUCache } from 'lru-cache'
import type { SentResponse } from '../../requests/delivery.ts'

/** A response as it was sent, before it is written in the form of the client's API. */
export interface CachedResponse extends SentResponse {
  /** The public id of the model that ran, the provider it ran at, and its name there. */
  model: string
  provider: string | null
  upstreamModel: string | null
  /** When it was stored, in milliseconds since 1970. */
  atMs: number
}

/** Responses in the memory of this process, with LRU eviction. */
export type CachedResponses = ReturnType<typeof createCachedResponses>

/** Memory of an entry besides its bytes, roughly. */
const overheadBytes = 1024

/** Creates a cache of at most `maxBytes`. No response may take more than an eighth of it. */
export function createCachedResponses (maxBytes: number) {
  const maxResponseBytes = Math.floor(maxBytes / 8) - overheadBytes
  const responses = new LRUCache<string, CachedResponse>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes.byteLength + overheadBytes
  })
  return {
    maxResponseBytes,
    get: (key: string): CachedResponse | undefined => responses.get(key),
    set (key: string, response: CachedResponse, ttlMs: number): void {
      if (response.bytes.byteLength <= maxResponseBytes) responses.set(key, response, { ttl: ttlMs })
    },
    get bytes (): number { return responses.calculatedSize }
  }
}
