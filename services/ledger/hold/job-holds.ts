import type { Queries, Store } from '../../store/store.ts'
import type { Posting } from '../ledger.ts'
import { createPostings, withoutTerm } from '../sql/postings.ts'
import { createStatements } from '../sql/statements.ts'

/** A hold that a job took with `reserve({durable: true})`. */
export interface JobHold {
  id: string
  /** As it was reserved: the paying account first. */
  chain: readonly string[]
  key: string
  /** Integer nano-USD. */
  amountNano: number
}

/**
 * The holds of jobs, ended within the transaction in which the job itself ends, so that one is never done
 * without the other. A hold that has ended stays as it is: all methods may be called again.
 */
export interface JobHolds {
  /**
   * Lets a hold last until its job ends: `reserve` gives it a time limit for the case that no job follows.
   */
  keep (queries: Queries, id: string): Promise<void>
  /** Books what the job cost, at most what is held, and gives the rest back; zero gives all back. */
  settle (queries: Queries, hold: JobHold, posting: Posting, at: number): Promise<void>
  /** Gives everything back. */
  release (queries: Queries, hold: JobHold, at: number): Promise<void>
  /** Gives everything back, and books what the provider may charge all the same where the operator looks. */
  suspend (queries: Queries, hold: JobHold, posting: Posting, at: number): Promise<void>
}

/** Creates the ends of jobs' holds on one engine; the rows are those that the ledger itself would write. */
export function createJobHolds (engine: Store['engine']): JobHolds {
  const statements = createStatements(engine)

  async function end (
    queries: Queries, hold: JobHold, posting: Posting | null, at: number, suspended: boolean
  ): Promise<void> {
    await statements.lockAccounts(queries, hold.chain, '')
    const rows = await statements.readDurable(queries, [hold.id])
    const settlement = { hold: { ...hold, granted: null, fresh: false }, number: 0, posting, at, suspended }
    const durable = Map.groupBy(rows, ({ id }) => id)
    const postings = createPostings([settlement], { ...withoutTerm, durable })
    const { chains, entries } = postings
    await statements.insertChains(queries, [...chains])
    const inserted = await statements.insertEntries(queries, entries)
    await statements.resolveDurable(queries, at, postings.resolved(inserted))
    const changes = Array.from(postings.sums(inserted), ([id, { spentNano, releasedNano }]) => ({
      id, spent: spentNano, held: 0 - releasedNano
    }))
    await statements.changeAccounts(queries, changes)
  }

  return {
    async keep (queries, id) {
      await queries.run('update hold set expires_at = null where id = $1 and state = 0', [id])
    },
    settle: async (queries, hold, posting, at) => {
      const amountNano = Math.min(posting.amountNano, hold.amountNano)
      await end(queries, hold, { ...posting, amountNano }, at, false)
    },
    release: async (queries, hold, at) => await end(queries, hold, null, at, false),
    suspend: async (queries, hold, posting, at) => await end(queries, hold, posting, at, true)
  }
}
