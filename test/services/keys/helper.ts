import { createKeys, type Keys } from '../../../services/keys/keys.ts'
import type { KeyRecord } from '../../../services/keys/types.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import type { Store } from '../../../services/store/store.ts'
import type { Database } from '../../helpers/engines.ts'

/** A store that counts the queries for keys and can be made to fail, and keys under a clock set by hand. */
export async function setUp (database: Database) {
  const store = await database.open()
  const probe = { queries: 0, down: false, written: Promise.resolve(0) }
  const watched: Store = {
    ...store,
    all: async (sql, params) => {
      probe.queries++
      if (probe.down) throw new StoreUnavailable(new Error('gone'))
      return await store.all(sql, params)
    },
    transaction: async (work) => {
      if (probe.down) throw new StoreUnavailable(new Error('gone'))
      return await store.transaction(work)
    },
    run: async (sql, params) => await (probe.written = store.run(sql, params))
  }
  const time = { now: 1_000_000 }
  const clock = () => time.now
  await createAccounts(store, clock).create({ id: 'acme' })
  const keys = createKeys(watched, clock)
  const { id, key } = await keys.create({ account: 'acme', label: 'laptop' })
  return { store, keys, probe, time, clock, id, key }
}

/** The record of a valid key, if it is read from the cache alone. */
export async function cachedRecord (
  { keys, probe }: { keys: Keys, probe: { queries: number } }, key: string
): Promise<KeyRecord | undefined> {
  const before = probe.queries
  const record = await keys.authenticate(key).catch(() => undefined)
  return probe.queries === before ? record : undefined
}
