import { openStore } from '../../services/store/open.ts'
import { openSqlite } from '../../services/store/sqlite.ts'
import type { Store } from '../../services/store/store.ts'

/** Opens a store whose database has the given clock, in ms since 1970, also in SQL. */
export async function openWithClock (url: string, clock: () => number): Promise<Store> {
  const [, path] = /^sqlite:(.*)$/.exec(url) ?? []
  if (path !== undefined) return await openSqlite(path, { clock })
  const store = await openStore(url)
  await store.transaction(async (queries) => {
    await queries.run('create table if not exists test_clock (ms bigint not null)')
    await queries.run('insert into test_clock (ms) select 0 where not exists (select 1 from test_clock)')
    await queries.run(`
      create or replace function now_ms () returns bigint language sql stable as $$ select ms from test_clock $$`)
  })
  let shownMs = 0
  const showing = <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const nowMs = clock()
      if (nowMs !== shownMs) await store.run('update test_clock set ms = $1', [nowMs])
      shownMs = nowMs
      return await work(...args)
    }
  return {
    ...store,
    clock,
    all: showing(store.all) as Store['all'],
    get: showing(store.get) as Store['get'],
    run: showing(store.run),
    transaction: showing(store.transaction) as Store['transaction']
  }
}
