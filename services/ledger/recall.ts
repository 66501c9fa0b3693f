import { setTimeout as sleep } from 'node:timers/promises'
import { createJsonIds } from '../store/json-rows.ts'
import type { Store } from '../store/store.ts'
import { idsOf, readLine } from './account-line.ts'
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

  /** Returns how much nodes still keep. */
  async function ask (accounts: Iterable<string>): Promise<number> {
    const given = [ids.parameter(accounts)]
    await store.run(askNodes, given)
    return (await store.get<{ nano: number }>(sumSpare, given))?.nano ?? 0
  }

  return {
    /** Waits until nodes keep nothing spare of an account and its parents, at most a few seconds. */
    async spare (account: string): Promise<void> {
      const deadlineMs = performance.now() + recallMs
      const accounts = idsOf(await readLine(store, account))
      while (await ask(accounts) > 0 && performance.now() < deadlineMs) await sleep(pollMs)
    },

    /** Waits until nothing is held of an account, at most a few seconds. */
    async all (account: string): Promise<void> {
      const deadlineMs = performance.now() + recallMs
      while ((await readLine(store, account))[0].heldNano > 0 && performance.now() < deadlineMs) {
        await ask([account])
        await sleep(pollMs)
      }
    },

    /** Runs `work`, and again while it lacks credit that nodes keep spare. */
    async whileLacking<Result> (work: () => Promise<Result>): Promise<Result> {
      const deadlineMs = performance.now() + recallMs
      for (let isLast = false; ; await sleep(pollMs)) {
        try {
          return await work()
        } catch (error) {
          if (!(error instanceof LacksCredit) || isLast) throw error
          // A node may have given it back since.
          isLast = await ask([error.account]) === 0 || performance.now() >= deadlineMs
        }
      }
    }
  }
}
