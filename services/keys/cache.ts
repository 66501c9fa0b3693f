import { compileGlob } from '../shared/glob.ts'
import { hasLimits } from '../shared/limits.ts'
import { createLru } from '../shared/lru.ts'
import { StoreUnavailable, type Queries, type Store } from '../store/store.ts'
import { createBudgets, type OpenBudget } from './budgets.ts'
import { maxKeysPerQuery, selectKeysWithParents, selectKeyVersion } from './rows.ts'
import { settingsOf } from './settings.ts'
import type { KeyRecord, KeyWithParents } from './types.ts'

/** A key as the database last returned it, its secrets as SHA-256. Times in milliseconds. */
export interface CachedKey {
  record: KeyRecord
  secretSha256: Buffer
  previous: { secretSha256: Buffer, until: number } | null
  lastUsedAt: number | null
  /** When it was looked up, and the version of all keys read before that. */
  checkedAt: number
  version: number
  /** When it must be looked up again even without a change. */
  renewAt: number
  /** In an outage, it is served until then without another query. */
  servedUntil: number
}

/** A key revoked by another process stays valid here for at most this long, plus one lookup. */
const freshMs = 1_000
const staleIfErrorMs = 60_000
const maxKeys = 20_000
const maxUnknownIds = 10_000
const maxWaiting = 10_000

export type KeyCache = ReturnType<typeof createKeyCache>

/**
 * Creates the cache of a store's keys. Unknown ids are cached separately, so that invented keys evict no
 * valid one. An entry is looked up again only if any key has changed; one query a second checks this for all.
 * Long because its short methods share private state.
 */
export function createKeyCache (store: Store, clock: () => number) {
  const keys = createLru<CachedKey>(maxKeys)
  const unknownUntil = createLru<number>(maxUnknownIds)
  const loading = new Map<string, Promise<CachedKey | null>>()
  const lookUp = createBatchedLookup(store)
  const budgets = createBudgets(store)
  /** The last version of all keys that was read, and when. */
  let latest = { version: 0, at: -Infinity }
  const readVersion = shared(async () => {
    const at = clock()
    latest = { version: await selectKeyVersion(store), at }
  })

  /** When an entry was last verified against the database. */
  function seenAt ({ version, checkedAt }: CachedKey): number {
    return version === latest.version ? Math.max(checkedAt, latest.at) : checkedAt
  }

  async function isUnchanged (key: CachedKey): Promise<boolean> {
    await readVersion()
    const now = clock()
    // Looked up in the future: a clock that was set back would have the version read for each request.
    return key.version === latest.version && now >= key.checkedAt && now < key.renewAt
  }

  async function query (id: string): Promise<CachedKey | null> {
    // Taken before the query: a change while it runs must not count as seen.
    const checkedAt = clock()
    const { version } = latest
    const key = await lookUp(id)
    if (key === null) {
      keys.delete(id)
      unknownUntil.set(id, checkedAt + freshMs)
      return null
    }
    const openBudget = key.budget === null ? null : await budgets.open(key, checkedAt)
    const renewAt = openBudget?.renewAt ?? Infinity
    const found = toCachedKey(key, createRecord(key, openBudget))
    const entry = { ...found, checkedAt, version, renewAt, servedUntil: 0 }
    keys.set(id, entry)
    return entry
  }

  function reload (id: string): Promise<CachedKey | null> {
    const pending = loading.get(id)
    if (pending !== undefined) return pending
    const started = query(id).finally(() => loading.delete(id))
    loading.set(id, started)
    return started
  }

  return {
    /** As `load`, but never serves a stale entry. */
    reload,

    /** Returns a fresh entry, null for an unknown id, undefined if the database must be queried. */
    peek (id: string, now: number): CachedKey | null | undefined {
      const key = keys.get(id)
      if (key === undefined) return now < (unknownUntil.get(id) ?? 0) ? null : undefined
      const at = seenAt(key)
      // A clock that was set back must not make a stale entry fresh.
      if (now < at) return undefined
      const isFresh = now < key.checkedAt + freshMs || (now < at + freshMs && now < key.renewAt)
      return isFresh || now < key.servedUntil ? key : undefined
    },

    /**
     * Queries the database once for all concurrent calls; in an outage, returns an entry of the last minute.
     */
    async load (id: string): Promise<CachedKey | null> {
      const key = keys.get(id)
      try {
        return key !== undefined && await isUnchanged(key) ? key : await reload(id)
      } catch (error) {
        const now = clock()
        if (!(error instanceof StoreUnavailable) || key === undefined) throw error
        if (now - seenAt(key) > staleIfErrorMs) throw error
        key.servedUntil = now + freshMs
        return key
      }
    },

    forget (id: string): void {
      keys.delete(id)
    }
  }
}

interface Waiting extends PromiseWithResolvers<KeyWithParents | null> { id: string }

/** Creates a lookup with one query in flight at a time; ids that arrive during it share the next one. */
function createBatchedLookup (queries: Queries): (id: string) => Promise<KeyWithParents | null> {
  const waiting: Waiting[] = []
  let isRunning = false

  async function run (batch: readonly Waiting[]): Promise<void> {
    try {
      const keys = await selectKeysWithParents(queries, batch.map(({ id }) => id))
      const byId = new Map(keys.map((key) => [key.id, key]))
      for (const { id, resolve } of batch) resolve(byId.get(id) ?? null)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  async function drain (): Promise<void> {
    isRunning = true
    while (waiting.length > 0) await run(waiting.splice(0, maxKeysPerQuery))
    isRunning = false
  }

  return async (id) => {
    if (waiting.length >= maxWaiting) throw new StoreUnavailable(new Error(`${maxWaiting} lookups are waiting`))
    const lookup = { id, ...Promise.withResolvers<KeyWithParents | null>() }
    waiting.push(lookup)
    if (!isRunning) drain()
    return await lookup.promise
  }
}

function toCachedKey (
  key: KeyWithParents, record: KeyRecord
): Pick<CachedKey, 'record' | 'secretSha256' | 'previous' | 'lastUsedAt'> {
  const { secretSha256, previousSha256, previousUntil, lastUsedAt } = key
  return {
    record,
    secretSha256: Buffer.from(secretSha256, 'hex'),
    previous: previousSha256 === null
      ? null
      : { secretSha256: Buffer.from(previousSha256, 'hex'), until: previousUntil ?? 0 },
    lastUsedAt
  }
}

/** Returns a function whose concurrent calls share one run of `work`. */
function shared (work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => {
    running ??= work().finally(() => { running = null })
    return running
  }
}

function createRecord (key: KeyWithParents, openBudget: OpenBudget | null): KeyRecord {
  const { id, role, account, accountState, revokedAt, parents } = key
  const settings = settingsOf(key)
  const globs = settings.models?.map(compileGlob)
  return Object.freeze({
    ...settings,
    id,
    role,
    account,
    accountState,
    revokedAt,
    limits: limitsOf(key),
    mayUse: (model: string) => globs === undefined || globs.some((matches) => matches(model)),
    chainAt: chainsOf([account, ...parents], openBudget)
  })
}

function limitsOf ({ id, account, parents, limits, accountLimits }: KeyWithParents): KeyRecord['limits'] {
  const scoped = [account, ...parents].flatMap((account, index) => {
    const own = accountLimits[index]
    return own === undefined ? [] : [{ scope: `account:${account}`, ...own }]
  })
  return Object.freeze([{ scope: `key:${id}`, ...limits }, ...scoped].filter(hasLimits))
}

function chainsOf (accounts: readonly string[], budget: OpenBudget | null): KeyRecord['chainAt'] {
  const endsAt = budget?.endsAt ?? Infinity
  const current = Object.freeze(budget === null ? [...accounts] : [...accounts, budget.account])
  // Without the next period's account, the request began before the period ended and counts there.
  const next = budget === null || budget.next === null ? current : Object.freeze([...accounts, budget.next])
  return (now) => now < endsAt ? current : next
}
