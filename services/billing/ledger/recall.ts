import { setTimeout as sleep } from 'node:timers/promises'
import { createJsonIds } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'
import { readLine } from './account-line.ts'
import { LacksCredit } from './errors.ts'

/** Longer than an idle node keeps money spare, see `LedgerOptions.idleMs`. */
const recallMs = 3_000
/** Shorter than a node yields what it was asked for. */
const pollMs = 40

/** Creates the recall of what nodes keep spare for coming requests. Methods throw StoreUnavailable. */
export function createRecall (store: Store) {
  const ids = createJsonIds(store.engine)
  const spare = `kind = 'node' and state = 0 and spare > 0 and account in (select id from ${ids.sql} as given)`
  const askNodes = `update hold set spare_requested = 1 where ${spare}`
  const sumSpare = `select cast(coalesce(sum(spare), 0) as bigint) as nano from hold where ${spare}`

  /** Returns how much nodes keep spare. */
  async function keptNano (queries: Pick<Queries, 'get'>, accounts: Iterable<string>): Promise<number> {
    return (await queries.get<{ nano: number }>(sumSpare, [ids.parameter(accounts)]))?.nano ?? 0
  }

  async function ask (account: string): Promise<void> {
    await store.run(askNodes, [ids.parameter([account])])
  }

  /** Runs `work` once; returns the account that it lacks credit of while nodes keep some spare. */
  async function attempt<Result> (work: Taking<Result>, isLast: boolean): Promise<Attempt<Result>> {
    let lacking: string | null = null
    try {
      return {
        lacking,
        result: await store.transaction(async queries => {
          lacking = null
          try {
            return await work(queries, isLast)
          } catch (error) {
            // Looked up while the account is locked: nodes take nothing in between.
            const account = error instanceof LacksCredit ? error.account : null
            if (account !== null && await keptNano(queries, [account]) > 0) lacking = account
            throw error
          }
        })
      }
    } catch (error) {
      if (lacking === null || isLast) throw error
      return { lacking }
    }
  }

  return {
    keptNano,

    /** Waits until nothing is held of an account, at most a few seconds. */
    async all (account: string): Promise<void> {
      const deadlineMs = performance.now() + recallMs
      while ((await readLine(store, account))[0].heldNano > 0 && performance.now() < deadlineMs) {
        await ask(account)
        await sleep(pollMs)
      }
    },

    /**
     * Runs `work` in a transaction, in which it locks the accounts. While it lacks credit that nodes keep
     * spare, recalls that and runs `work` again, for the last time after a few seconds.
     */
    async taking<Result> (work: Taking<Result>): Promise<Result> {
      const deadlineMs = performance.now() + recallMs
      for (;;) {
        const made = await attempt(work, performance.now() >= deadlineMs)
        if (made.lacking === null) return made.result
        await ask(made.lacking)
        await sleep(pollMs)
      }
    }
  }
}

type Taking<Result> = (queries: Queries, isLast: boolean) => Promise<Result>
type Attempt<Result> = { lacking: null, result: Result } | { lacking: string }
