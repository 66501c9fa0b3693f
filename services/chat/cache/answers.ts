import { LRUCache } from 'lru-cache'

/** An answer as it went to a client. */
export interface KeptAnswer {
  kind: 'json' | 'events'
  bytes: Uint8Array
  headers: Record<string, string>
  /** The public id of the model that ran, the provider it ran at, and its name there. */
  model: string
  provider: string | null
  upstreamModel: string | null
  /** When it was kept, in milliseconds since 1970. */
  atMs: number
}

/** Answers in the memory of this process, the least used ones leaving first. */
export interface KeptAnswers {
  /** The longest answer that is kept, in bytes. */
  readonly maxAnswerBytes: number
  find (key: string): KeptAnswer | undefined
  keep (key: string, answer: KeptAnswer, ttlMs: number): void
  /** What all of it takes, in bytes. */
  readonly bytes: number
}

/** What an entry takes besides its bytes, roughly. */
const overheadBytes = 1024

/** A store of at most `maxBytes`. No answer may take more than an eighth of it. */
export function createKeptAnswers (maxBytes: number): KeptAnswers {
  const maxAnswerBytes = Math.floor(maxBytes / 8) - overheadBytes
  const answers = new LRUCache<string, KeptAnswer>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes.byteLength + overheadBytes
  })
  return {
    maxAnswerBytes,
    find: key => answers.get(key),
    keep (key, answer, ttlMs) {
      if (answer.bytes.byteLength <= maxAnswerBytes) answers.set(key, answer, { ttl: ttlMs })
    },
    get bytes () { return answers.calculatedSize }
  }
}
