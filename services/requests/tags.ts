import { isObject } from '../shared/json.ts'
import type { Tags } from '../billing/ledger/ledger.ts'

interface TagsOptions {
  /** Names of the tags to keep. */
  names: () => readonly string[]
  /** Milliseconds since 1970. */
  clock: () => number
  limits?: Partial<typeof usualLimits>
}

/** What says the tags of a request; the header counts before the metadata. */
export interface TagSource {
  /** Whose tags they are. */
  account: string
  metadata: unknown
  /** As `project=alpha, team=blue`; values may be percent-encoded. */
  header: string | string[] | undefined
}

export const tagsHeader = 'x-tollgate-tags'

const usualLimits = {
  /** Characters of a value; a longer one is cut. */
  valueLength: 64,
  /** Different combinations per account, and of all accounts, in a day. */
  perAccount: 1_000,
  total: 100_000
}
const maxHeaderLength = 4_096
const dayMs = 86_400_000
/** What stands for the values of an account that has used too many. */
export const otherValue = '(other)'

export type TagReader = ReturnType<typeof createTagReader>

/**
 * Creates the reader of the tags of requests. Only the operator's names are kept, and only so many different
 * values per day, because each makes a row of every report.
 */
export function createTagReader ({ names, clock, limits }: TagsOptions) {
  const { valueLength, perAccount, total } = { ...usualLimits, ...limits }
  let seen = new Map<string, Set<string>>()
  let count = 0
  let day = 0

  /** Whether these are among the tags that the account may use today. */
  function isWithinLimits (account: string, tags: Tags): boolean {
    const today = Math.floor(clock() / dayMs)
    if (today !== day) [seen, count, day] = [new Map(), 0, today]
    const ofAccount = seen.get(account) ?? new Set()
    seen.set(account, ofAccount)
    const text = JSON.stringify(tags)
    if (ofAccount.has(text)) return true
    if (ofAccount.size >= perAccount || count >= total) return false
    ofAccount.add(text)
    count++
    return true
  }

  return function readTags ({ account, metadata, header }: TagSource): Tags | null {
    const given = typeof header === 'string' ? readHeader(header) : noTags
    const tags: Record<string, string> = {}
    for (const name of names().toSorted()) {
      const value = cleaned(given.get(name) ?? ownText(metadata, name), valueLength)
      if (value !== '') tags[name] = value
    }
    const used = Object.keys(tags)
    if (used.length === 0) return null
    return isWithinLimits(account, tags) ? tags : Object.fromEntries(used.map(name => [name, otherValue]))
  }
}

const noTags: ReadonlyMap<string, string> = new Map()

function readHeader (header: string): ReadonlyMap<string, string> {
  const pairs = header.slice(0, maxHeaderLength).split(',').map(pair => {
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    return [name.trim(), decoded(value.trim())] as const
  })
  return new Map(pairs)
}

function decoded (value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    // Not percent-encoded.
    return value
  }
}

function ownText (metadata: unknown, name: string): string {
  const value: unknown = isObject(metadata) && Object.hasOwn(metadata, name) ? metadata[name] : ''
  return typeof value === 'string' ? value : ''
}

/** Text that every database and terminal takes. */
function cleaned (value: string, maxLength: number): string {
  return value.replace(/\p{Cc}+/gu, ' ').trim().slice(0, maxLength).toWellFormed()
}
