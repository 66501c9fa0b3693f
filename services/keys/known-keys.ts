import { LRUCache } from 'lru-cache'
import { StoreUnavailable } from '../store/store.ts'
import type { KeyLookup } from './lookup.ts'
import type { KeyRow } from './rows.ts'

/** Whom a request belongs to; times in milliseconds. */
export interface KeyRecord {
  readonly id: string
  readonly account: string
  readonly label: string
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** A key as the database has it, without its secret. */
export interface KnownKey {
  record: KeyRecord
  secretSha256: Buffer
  lastUsedAt: number | null
  /** When the database was last asked and answered. */
  checkedAt: number
  /** From when on it has to be asked again. */
  dueAt: number
}

/** What the database said lately about ids of keys, whether good, ended or unknown. */
export interface KnownKeys {
  /** Returns a fresh answer, null for an id that no key has; undefined when the database has to be asked. */
  peek (id: string, now: number): KnownKey | null | undefined
  /**
   * Asks the database, once however many ask at the same time. While it cannot be asked, a key of which it
   * has told within the last minute stands as it was; for any other one StoreUnavailable is thrown.
   */
  check (id: string): Promise<KnownKey | null>
  /** Makes the next use of a key ask the database. */
  forget (id: string): void
}

/** A key that another process revokes goes on for as long at most, plus the time of one lookup. */
const freshMs = 1_000
const graceMs = 60_000
const maxKnown = 10_000
const maxUnknown = 10_000

/**
 * Creates the memory of keys. Ids that no key has are remembered apart, so that a flood of made-up keys
 * cannot push out the good ones. `clock` gives milliseconds since 1970.
 */
export function createKnownKeys (lookup: KeyLookup, clock: () => number): KnownKeys {
  const known = new LRUCache<string, KnownKey>({ max: maxKnown })
  const unknownUntil = new LRUCache<string, number>({ max: maxUnknown })
  const checking = new Map<string, Promise<KnownKey | null>>()

  async function ask (id: string): Promise<KnownKey | null> {
    // The answer is as old as the question: what changes while it is under way must not count as seen.
    const checkedAt = clock()
    try {
      const row = await lookup(id)
      return row === null ? rememberUnknown(id, checkedAt) : rememberKnown(row, checkedAt)
    } catch (error) {
      const key = known.get(id)
      const now = clock()
      if (!(error instanceof StoreUnavailable) || key === undefined) throw error
      if (now - key.checkedAt > graceMs) throw error
      key.dueAt = now + freshMs
      return key
    } finally {
      checking.delete(id)
    }
  }

  function rememberUnknown (id: string, checkedAt: number): null {
    known.delete(id)
    unknownUntil.set(id, checkedAt + freshMs)
    return null
  }

  function rememberKnown (row: KeyRow, checkedAt: number): KnownKey {
    const key = toKnownKey(row, checkedAt)
    known.set(row.id, key)
    return key
  }

  return {
    peek (id, now) {
      const key = known.get(id)
      // A clock that was set back must not make an old answer young again.
      if (key !== undefined) return now >= key.checkedAt && now < key.dueAt ? key : undefined
      return now < (unknownUntil.get(id) ?? 0) ? null : undefined
    },

    check (id) {
      const underWay = checking.get(id)
      if (underWay !== undefined) return underWay
      const started = ask(id)
      checking.set(id, started)
      return started
    },

    forget (id) {
      known.delete(id)
    }
  }
}

function toKnownKey (row: KeyRow, checkedAt: number): KnownKey {
  const { id, account, label, expiresAt, revokedAt, lastUsedAt } = row
  return {
    record: Object.freeze({ id, account, label, expiresAt, revokedAt }),
    secretSha256: Buffer.from(row.secretSha256, 'hex'),
    lastUsedAt,
    checkedAt,
    dueAt: checkedAt + freshMs
  }
}
