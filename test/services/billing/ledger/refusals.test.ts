import t from 'tap'
import type { Test } from 'tap'
import type { Store } from '../../../../services/store/store.ts'
import { createDatabase, forEachEngine, type Database } from '../../../helpers/engines.ts'
import { assertBooks, createCluster, posting, reservation, rowOf } from './helper.ts'

const usd = 1_000_000_000

/** More than the free pages of a file have room for. */
const longName = 'a/model'.repeat(1_000)

type Change = (store: Store) => Promise<unknown>

/** Settles twenty requests of two accounts while the database refuses, until `restore` lets it book again. */
async function outlives (
  t: Test, database: Database, refuse: Change, restore: Change
): Promise<void> {
  const { store, time, node } = await createCluster(database, { acme: usd, other: usd })
  const { ledger, log } = node('a')
  const reserved = Array.from({ length: 20 }, async (_, index) =>
    await ledger.reserve(reservation(100, { chain: [index % 2 === 0 ? 'acme' : 'other'], fresh: true })))
  await time.advance(20)
  const holds = await Promise.all(reserved)
  await refuse(store)
  for (const hold of holds) hold.settle(posting(60, { model: longName }))
  await time.advance(3_000)
  t.equal(ledger.unflushedCount, 20)
  t.ok(ledger.outageMs > 2_000, `an outage of ${ledger.outageMs} ms`)
  t.ok(log.lines.some(({ level, message }) => level === 'warn' && /cannot be written/.test(message)))

  await restore(store)
  await time.advance(1_000)
  t.same([ledger.unflushedCount, ledger.outageMs, ledger.lostCount, ledger.suspendedCount], [0, 0, 0, 0])
  t.match([await rowOf(store), await rowOf(store, 'other')], [{ spent: 600 }, { spent: 600 }])
  t.match(await store.get("select count(*) as count from entry where kind = 'usage'"), { count: 20 })
  await assertBooks(t, store)
}

forEachEngine(t, 'a table that is renamed and renamed back costs no settlement', async (t, database) => {
  await outlives(t, database,
    store => store.run('alter table entry rename to elsewhere'), store => store.run('alter table elsewhere rename to entry'))
})

forEachEngine(t, 'a constraint that no entry meets costs no settlement', async (t, database) => {
  if (database.engine === 'sqlite') {
    await outlives(t, database,
      store => store.run("create trigger no_entry before insert on entry begin select raise(abort, 'none'); end"),
      store => store.run('drop trigger no_entry'))
  } else {
    await outlives(t, database,
      store => store.run('alter table entry add constraint no_entry check (false) not valid'),
      store => store.run('alter table entry drop constraint no_entry'))
  }
})

for (const [problem, refuse, restore] of [
  ['read-only', 'pragma query_only = on', 'pragma query_only = off'],
  ['full', 'pragma max_page_count = 1', 'pragma max_page_count = 100000']
] as const) {
  t.test(`a ${problem} SQLite file costs no settlement`, async t => {
    await outlives(t, await createDatabase(t, 'sqlite'), store => store.run(refuse), store => store.run(restore))
  })
}

for (const state of ['42501', 'XX000', '42P05', '0A000', '99999']) {
  t.test(`the error ${state} of Postgres costs no settlement`, async t => {
    await outlives(t, await createDatabase(t, 'postgres'),
      async store => {
        await store.run(refuseFunction(state, 'true'))
        await store.run('create trigger refuse before insert on entry for each row execute function refuse()')
      },
      store => store.run('drop trigger refuse on entry'))
  })
}

t.test('an entry that Postgres refuses for an unknown reason keeps no other from being booked', async t => {
  const { store, time, node } = await createCluster(await createDatabase(t, 'postgres'), { acme: usd, other: usd })
  await store.run(refuseFunction('XX000', "new.model = 'poison'"))
  await store.run('create trigger refuse before insert on entry for each row execute function refuse()')
  const { ledger } = node('a')
  const reserved = ['poison', 'a/model', 'other', 'other'].map(async model => {
    const chain = [model === 'other' ? 'other' : 'acme']
    return { model, hold: await ledger.reserve(reservation(100, { chain, fresh: true })) }
  })
  await time.advance(20)
  for (const { model, hold } of await Promise.all(reserved)) hold.settle(posting(60, { model }))
  await time.advance(100)
  t.equal(ledger.unflushedCount, 0)
  t.match([await rowOf(store), await rowOf(store, 'other')], [{ spent: 60 }, { spent: 120 }])
  t.match(await store.all("select amount, chain, reason from entry where kind = 'suspense'"), [
    { amount: 60, chain: 'acme', reason: 'rejected' }
  ])
  await assertBooks(t, store)
})

function refuseFunction (state: string, condition: string): string {
  return `create or replace function refuse () returns trigger language plpgsql as $$
    begin if ${condition} then raise exception 'refused' using errcode = '${state}'; end if; return new; end $$`
}
