import { setTimeout as sleep } from 'node:timers/promises'
import type { Queries, Store } from '../../store/store.ts'
import { readLine } from './account-line.ts'
import { LacksCredit } from './errors.ts'

/** Longer than an idle node keeps money spare, see `LedgerOptions.idleMs`. */
const recallMs = 3_000
/** Shorter than a node yields what was requested. */
const pollMs = 40

const spare = "kind = 'node' and state = 0 and spare > 0 and account"

/** Creates the recall of what nodes keep spare for coming requests. Methods throw StoreUnavailable. */
export function createRecall (store: Store) {
  async function request (account: string): Promise<void> {
    await store.run(`update hold set spare_requested = 1 where ${spare} = $1`, [account])
  }

  return {
    /** Returns how much nodes keep spare of an account. */
    async keptNano (queries: Pick<Queries, 'get'>, account: string): Promise<number> {
      const kept = await queries.get<{ nano: number }>(
        `select cast(coalesce(sum(spare), 0) as bigint) as nano from hold where ${spare} = $1`, [account])
      return kept?.nano ?? 0
    },

    /** Waits until nothing is held of an account, at most a few seconds. */
    async all (account: string): Promise<void> {
      const deadlineMs = performance.now() + recallMs
      while ((await readLine(store, account))[0].heldNano > 0 && performance.now() < deadlineMs) {
        await request(account)
        await sleep(pollMs)
      }
    },

    /**
     * Runs `work` in a transaction, in which it locks the accounts. While it lacks credit that nodes keep
     * spare, requests that and runs `work` again, for the last time after a few seconds.
     */
    async taking<Result> (work: (queries: Queries, isLast: boolean) => Promise<Result>): Promise<Result> {
      const deadlineMs = performance.now() + recallMs
      for (;;) {
        const isLast = performance.now() >= deadlineMs
        let keptNano = 0
        try {
          return await store.transaction(async queries => {
            try {
              return await work(queries, isLast)
            } catch (error) {
              // Looked up while the account is locked: nodes take nothing in between.
              keptNano = error instanceof LacksCredit ? await this.keptNano(queries, error.account) : 0
              throw error
            }
          })
        } catch (error) {
          if (isLast || !(error instanceof LacksCredit) || keptNano === 0) throw error
          await request(error.account)
          await sleep(pollMs)
        }
      }
    }
  }
}
