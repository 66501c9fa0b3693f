import { LRUCache } from 'lru-cache'

/** An answer as it went to a client. */
export interface CachedAnswer {
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
export type CachedAnswers = ReturnType<typeof createCachedAnswers>

/** Memory of an entry besides its bytes, roughly. */
const overheadBytes = 1024

/** Creates a cache of at most `maxBytes`. No answer may take more than an eighth of it. */
export function createCachedAnswers (maxBytes: number) {
  const maxAnswerBytes = Math.floor(maxBytes / 8) - overheadBytes
  const answers = new LRUCache<string, CachedAnswer>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes.byteLength + overheadBytes
  })
  return {
    maxAnswerBytes,
    get: (key: string): CachedAnswer | undefined => answers.get(key),
    set (key: string, answer: CachedAnswer, ttlMs: number): void {
      if (answer.bytes.byteLength <= maxAnswerBytes) answers.set(key, answer, { ttl: ttlMs })
    },
    get bytes (): number { return answers.calculatedSize }
  }
}
