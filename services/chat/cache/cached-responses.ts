import { LRUCache } from 'lru-cache'

/** An answer as it went to a client. */
export interface CachedResponse {
  kind: 'json' | 'events'
  bytes: Uint8Array
  headers: Record<string, string>
  /** Whether it is as a provider with the client's own API has written it, rather than one of chat. */
  isNative: boolean
  /** The public id of the model that ran, the provider it ran at, and its name there. */
  model: string
  provider: string | null
  upstreamModel: string | null
  /** When it was stored, in milliseconds since 1970. */
  atMs: number
}

/** Answers in the memory of this process, with LRU eviction. */
export type CachedResponses = ReturnType<typeof createCachedResponses>

/** Memory of an entry besides its bytes, roughly. */
const overheadBytes = 1024

/** Creates a cache of at most `maxBytes`. No answer may take more than an eighth of it. */
export function createCachedResponses (maxBytes: number) {
  const maxResponseBytes = Math.floor(maxBytes / 8) - overheadBytes
  const responses = new LRUCache<string, CachedResponse>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes.byteLength + overheadBytes
  })
  return {
    maxAnswerBytes: maxResponseBytes,
    get: (key: string): CachedResponse | undefined => responses.get(key),
    set (key: string, response: CachedResponse, ttlMs: number): void {
      if (response.bytes.byteLength <= maxResponseBytes) responses.set(key, response, { ttl: ttlMs })
    },
    get bytes (): number { return responses.calculatedSize }
  }
}
