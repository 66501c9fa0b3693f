import { LRUCache } from 'lru-cache'

/** An answer as it went to a client. */
export interface CachedAnswer {
  kind: 'json' | 'events'
  bytes: Uint8Array
  headers: Record<string, string>
  /** The public id of the model that ran, the provider it ran at, and its name there. */
  model: string
  provider: string | null
  upstreamModel: string | null
  /** When it was stored, in milliseconds since 1970. */
  atMs: number
}

/** Answers in the memory of this process, with LRU eviction. */
export interface CachedAnswers {
  /** The longest answer that is stored, in bytes. */
  readonly maxAnswerBytes: number
  get (key: string): CachedAnswer | undefined
  set (key: string, answer: CachedAnswer, ttlMs: number): void
  /** The size of all answers, in bytes. */
  readonly bytes: number
}

/** Memory of an entry besides its bytes, roughly. */
const overheadBytes = 1024

/** Creates a cache of at most `maxBytes`. No answer may take more than an eighth of it. */
export function createCachedAnswers (maxBytes: number): CachedAnswers {
  const maxAnswerBytes = Math.floor(maxBytes / 8) - overheadBytes
  const answers = new LRUCache<string, CachedAnswer>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes.byteLength + overheadBytes
  })
  return {
    maxAnswerBytes,
    get: key => answers.get(key),
    set (key, answer, ttlMs) {
      if (answer.bytes.byteLength <= maxAnswerBytes) answers.set(key, answer, { ttl: ttlMs })
    },
    get bytes () { return answers.calculatedSize }
  }
}
