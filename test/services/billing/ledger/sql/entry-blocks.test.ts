import t from 'tap'
import { sumUsage } from '../../../../../services/operations/reports/usage.ts'
import { createLedger } from '../../../../../services/billing/ledger/create.ts'
import { entriesOfPeriod, recordEntryBlocks } from '../../../../../services/billing/ledger/sql/entry-blocks.ts'
import { listEntries } from '../../../../../services/operations/admin/entries.ts'
import type { Store } from '../../../../../services/store/store.ts'
import { createDatabase, forEachEngine } from '../../../../helpers/engines.ts'
import { openAdministration } from '../../../operations/admin/helper.ts'
import { createRandom } from '../random.ts'
import { until } from '../../../../helpers/until.ts'

/** Books entries of 1 nano-USD, one after the other at the times given. */
async function book (store: Store, times: readonly number[]): Promise<void> {
  const value = store.engine === 'sqlite' ? 'value' : 'cast(value as bigint)'
  const each = store.engine === 'sqlite'
    ? '(select key, value from json_each($1))'
    : '(select key, value from json_array_elements_text($1::json) with ordinality as element (value, key))'
  await store.run(`
    insert into entry (idempotency_key, at, debit, credit, amount, kind, ref, model, usage, estimated, api_key, chain)
    select $2 || key, ${value}, 'acme', 'revenue', 1, 'usage', 'r', 'gpt', '{"prompt":1,"completion":2}', 0, 'k', 'acme'
    from ${each} as given order by key`, [JSON.stringify(times), `e${++books}-`])
}

let books = 0

forEachEngine(t, 'entries of a period are found wherever they stand', async (t, { open }) => {
  const store = await open()
  const admin = await openAdministration(t, store)
  const seed = Date.now() >>> 0
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const times: number[] = []
  // The clock runs unevenly, and is set back for once.
  for (const [count, from] of [[5_000, 0], [6_000, 90_000], [3_000, 20_000]] as const) {
    const some = Array.from({ length: count }, (_, index) => from + index * 10 + random.integer(0, 3_000))
    await book(store, some)
    await recordEntryBlocks(store)
    times.push(...some)
    for (let period = 0; period < 20; period++) {
      const from = random.integer(0, 150_000)
      const to = from + random.integer(0, period < 10 ? 200 : 60_000)
      const expected = times.filter(at => at >= from && at < to)
      const [sum] = await sumUsage(store, { by: [], from, to })
      const { length } = expected
      t.match(sum, { requests: length, amountNano: length, completionTokens: 2 * length })
      const { data } = await listEntries(admin, { from, to, limit: 50 })
      t.same(data.map(({ at }) => Date.parse(at)), expected.slice(-50).reverse())
    }
  }
})

t.test('only full blocks are recorded, once among several nodes', async t => {
  const { open } = await createDatabase(t, 'sqlite')
  const [store, other] = [await open(), await open()]
  const blocks = () => store.all('select first, last, earliest, latest from entry_block order by first')
  await recordEntryBlocks(store)
  await book(store, Array.from({ length: 4_095 }, (_, index) => 10_000 - index))
  await recordEntryBlocks(store)
  t.same(await blocks(), [])
  await book(store, Array.from({ length: 4_098 }, (_, index) => 20_000 + index))
  await Promise.all([recordEntryBlocks(store), recordEntryBlocks(other)])
  const expected = [
    { first: 1, last: 4_096, earliest: 5_906, latest: 20_000 },
    { first: 4_097, last: 8_192, earliest: 20_001, latest: 24_096 }
  ]
  t.same(await blocks(), expected)
  await recordEntryBlocks(other)
  t.same(await blocks(), expected)
})

t.test('entries of a period are looked up through their blocks alone', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const plan = await store.all<{ detail: string }>(
    `explain query plan select seq from ${entriesOfPeriod('sqlite')} where at >= $1 and at < $2`, [0, 1])
  t.match(plan.map(({ detail }) => detail).join('\n'), 'SEARCH entry USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)')
})

t.test('a ledger records blocks periodically', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await book(store, Array.from({ length: 5_000 }, (_, index) => index))
  const ledger = createLedger({ store, options: { heartbeatMs: 10 } })
  t.teardown(() => ledger.close())
  const isNoted = async () => await store.get('select first from entry_block') !== undefined
  await until(isNoted)
  t.match(await store.all('select first, last from entry_block'), [{ first: 1, last: 4_096 }])
})
