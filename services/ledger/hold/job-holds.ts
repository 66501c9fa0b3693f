import type { Queries, Store } from '../../store/store.ts'
import { createPostings } from '../commit/postings.ts'
import type { Posting } from '../ledger.ts'
import { createStatements } from '../sql/statements.ts'

/** A hold that a job took with `reserve({ durable: true })`. */
export interface JobHold {
  id: string
  /** The paying account first. */
  chain: readonly string[]
  key: string
  amountNano: number
}

export type JobHolds = ReturnType<typeof createJobHolds>

/** Ends holds of jobs, with the rows of the ledger, within the transaction that ends the job; idempotent. */
export function createJobHolds (engine: Store['engine']) {
  const statements = createStatements(engine)

  async function end (
    queries: Queries, hold: JobHold, posting: Posting | null, at: number, suspended: boolean
  ): Promise<void> {
    await statements.lockAccounts(queries, hold.chain, '')
    const rows = await statements.readDurable(queries, [hold.id])
    const settlement = { hold: { ...hold, grant: null, fresh: false }, sequence: 0, posting, at, suspended }
    const durable = new Map([[hold.id, rows]])
    const postings = createPostings([settlement], { term: null, booked: new Map(), durable })
    await statements.insertChains(queries, [...postings.chains])
    const inserted = await statements.insertEntries(queries, postings.entries)
    await statements.endDurable(queries, at, postings.ended(inserted))
    const changes = Array.from(postings.changes(inserted), ([id, { spentNano, releasedNano }]) => ({
      id, spent: spentNano, held: 0 - releasedNano
    }))
    await statements.changeAccounts(queries, changes)
  }

  return {
    /** Lets a hold last until its job ends; `reserve` gives it an expiry in case no job follows. */
    async keep (queries: Queries, id: string): Promise<void> {
      await queries.run('update hold set expires_at = null where id = $1 and state = 0', [id])
    },
    /** Charges what the job cost, at most what is held, and releases the rest; zero releases everything. */
    async settle (queries: Queries, hold: JobHold, posting: Posting, at: number): Promise<void> {
      const amountNano = Math.min(posting.amountNano, hold.amountNano)
      await end(queries, hold, { ...posting, amountNano }, at, false)
    },
    async release (queries: Queries, hold: JobHold, at: number): Promise<void> {
      await end(queries, hold, null, at, false)
    },
    /** Releases everything, and books to suspense what the provider may charge the operator nevertheless. */
    async suspend (queries: Queries, hold: JobHold, posting: Posting, at: number): Promise<void> {
      await end(queries, hold, posting, at, true)
    }
  }
}
