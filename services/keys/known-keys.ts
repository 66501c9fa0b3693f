import { LRUCache } from 'lru-cache'
import { StoreUnavailable } from '../store/store.ts'
import type { Budgets } from './budgets.ts'
import type { KeyLookup } from './lookup.ts'
import { createRecord } from './record.ts'
import type { KeyRecord } from './record.ts'
import type { KeyWithParents } from './rows.ts'

/** A key as the database has it, its secrets as SHA-256. */
export interface KnownKey {
  record: KeyRecord
  secretSha256: Buffer
  /** The secret before the last rotation, which ends at `until`. */
  previous: { secretSha256: Buffer, until: number } | null
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
  /** Asks the database, whatever is known. Throws StoreUnavailable. */
  ask (id: string): Promise<KnownKey | null>
  /** Makes the next use of a key ask the database. */
  forget (id: string): void
}

/** A key that another process revokes goes on for as long at most, plus the time of one lookup. */
const freshMs = 1_000
const graceMs = 60_000
const maxKnown = 10_000
const maxUnknown = 10_000

interface KnownKeysOptions {
  lookup: KeyLookup
  budgets: Budgets
  /** The time in milliseconds since 1970. */
  clock: () => number
}

/**
 * Creates the memory of keys. Ids that no key has are remembered apart, so that a flood of made-up keys
 * cannot push out the good ones.
 */
export function createKnownKeys ({ lookup, budgets, clock }: KnownKeysOptions): KnownKeys {
  const known = new LRUCache<string, KnownKey>({ max: maxKnown })
  const unknownUntil = new LRUCache<string, number>({ max: maxUnknown })
  const asking = new Map<string, Promise<KnownKey | null>>()

  async function fetch (id: string): Promise<KnownKey | null> {
    // The answer is as old as the question: what changes while it is under way must not count as seen.
    const checkedAt = clock()
    const key = await lookup(id)
    if (key === null) {
      known.delete(id)
      unknownUntil.set(id, checkedAt + freshMs)
      return null
    }
    const knownKey = toKnownKey(key, createRecord(key, await budgets.open(key, checkedAt)), checkedAt)
    known.set(id, knownKey)
    return knownKey
  }

  function ask (id: string): Promise<KnownKey | null> {
    const underWay = asking.get(id)
    if (underWay !== undefined) return underWay
    const started = fetch(id).finally(() => asking.delete(id))
    asking.set(id, started)
    return started
  }

  return {
    ask,

    peek (id, now) {
      const key = known.get(id)
      // A clock that was set back must not make an old answer young again.
      if (key !== undefined) return now >= key.checkedAt && now < key.dueAt ? key : undefined
      return now < (unknownUntil.get(id) ?? 0) ? null : undefined
    },

    async check (id) {
      try {
        return await ask(id)
      } catch (error) {
        const key = known.get(id)
        const now = clock()
        if (!(error instanceof StoreUnavailable) || key === undefined) throw error
        if (now - key.checkedAt > graceMs) throw error
        key.dueAt = now + freshMs
        return key
      }
    },

    forget (id) {
      known.delete(id)
    }
  }
}

function toKnownKey (key: KeyWithParents, record: KeyRecord, checkedAt: number): KnownKey {
  const { secretSha256, previousSha256, previousUntil, lastUsedAt } = key
  return {
    record,
    secretSha256: Buffer.from(secretSha256, 'hex'),
    previous: previousSha256 === null
      ? null
      : { secretSha256: Buffer.from(previousSha256, 'hex'), until: previousUntil ?? 0 },
    lastUsedAt,
    checkedAt,
    dueAt: checkedAt + freshMs
  }
}
