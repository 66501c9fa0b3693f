import { isObject } from '../shared/json.ts'
import type { Tags } from '../billing/ledger/ledger.ts'

interface TagsOptions {
  /** Names of the tags to keep. */
  names: () => readonly string[]
  /** Milliseconds since 1970. */
  clock: () => number
  limits?: Partial<typeof usualLimits>
}

/** The sources of a request's tags; the header takes precedence over the metadata. */
export interface TagSource {
  /** The account of the tags. */
  account: string
  metadata: unknown
  /** For example `project=alpha, team=blue`; values may be percent-encoded. */
  header: string | string[] | undefined
}

export const tagsHeader = 'x-tollgate-tags'

const usualLimits = {
  /** Most characters of a value; longer ones are shortened. */
  valueLength: 64,
  /** Most combinations per account, and of all accounts, in a day. */
  perAccount: 1_000,
  total: 100_000
}
const maxHeaderLength = 4_096
const dayMs = 86_400_000
/** Replaces the values of an account that has used too many. */
export const otherValue = '(other)'

/**
 * Creates the reader of the tags of requests. Only configured names are kept, and only a limited number of
 * values per day, because each adds a row to every report.
 */
export function createTagReader ({ names, clock, limits }: TagsOptions) {
  const { valueLength, perAccount, total } = { ...usualLimits, ...limits }
  let seen = new Map<string, Set<string>>()
  let count = 0
  let day = 0

  /** Whether the account may use these tags today. */
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
    // The value is not percent-encoded.
    return value
  }
}

function ownText (metadata: unknown, name: string): string {
  const value: unknown = isObject(metadata) && Object.hasOwn(metadata, name) ? metadata[name] : ''
  return typeof value === 'string' ? value : ''
}

/** Text that is safe for every database and terminal. */
function cleaned (value: string, maxLength: number): string {
  return value.replace(/\p{Cc}+/gu, ' ').trim().slice(0, maxLength).toWellFormed()
}
