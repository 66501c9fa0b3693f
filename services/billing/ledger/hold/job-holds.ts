import type { Queries, Store } from '../../../store/store.ts'
import { createPostings, possibleKeys } from '../commit/postings.ts'
import type { Posting } from '../ledger.ts'
import type { EntryRow } from '../sql/rows.ts'
import { createStatements } from '../sql/statements.ts'
import { BoundedCharge, chainId, isFree, type Settlement } from '../types.ts'

/** A hold that a job took with `reserve({ durable: true })`; of 0 for a free job, which took none. */
export interface JobHold {
  id: string
  /** The paying account first. */
  chain: readonly string[]
  key: string
  amountNano: number
}

/** A hold, and what is to be charged to it. */
export interface Booking { hold: JobHold, posting: Posting }

interface Ending extends Pick<Settlement, 'at' | 'suspended'> { posting: Posting | null }

export type JobHolds = ReturnType<typeof createJobHolds>

/**
 * Ends holds of jobs, with the rows of the ledger, within the transaction that ends the job; idempotent.
 * Returns the entries in suspense, for `Ledger.reportSuspended` once that transaction is committed.
 */
export function createJobHolds (engine: Store['engine']) {
  const statements = createStatements(engine)

  async function end (
    queries: Queries, hold: JobHold, { posting, ...ending }: Ending
  ): Promise<EntryRow[]> {
    if (!isFree(hold)) await statements.lockAccounts(queries, hold.chain)
    const rows = isFree(hold) ? [] : await statements.readDurable(queries, [hold.id])
    const charge = posting === null ? null : new BoundedCharge(hold.amountNano, posting)
    const settlement = { hold: { ...hold, grant: null, fresh: false }, sequence: 0, charge, ...ending }
    const durable = new Map([[hold.id, rows]])
    const bookedKeys = await statements.readBooked(queries, possibleKeys([settlement], null))
    const postings = createPostings([settlement], { term: null, booked: new Map(), durable, bookedKeys })
    if (postings.entries.length > 0) {
      const id = chainId(hold.chain)
      await statements.insertChains(queries, hold.chain.map(account => ({ id, account })))
    }
    await statements.insertEntries(queries, postings.entries)
    await statements.endDurable(queries, postings.ended())
    const changes = Array.from(postings.changes(), ([id, { spentNano, releasedNano }]) => ({
      id, spent: spentNano, held: 0 - releasedNano
    }))
    await statements.changeAccounts(queries, changes)
    return postings.suspended
  }

  return {
    /** Lets a hold last until its job ends; `reserve` gives it an expiry in case no job follows. */
    async keep (queries: Queries, id: string): Promise<void> {
      await queries.run('update hold set expires_at = null where id = $1 and state = 0', [id])
    },
    /** Charges what the job cost and releases the rest. */
    async settle (queries: Queries, hold: JobHold, posting: Posting, at: number): Promise<EntryRow[]> {
      return await end(queries, hold, { posting, at, suspended: null })
    },
    async release (queries: Queries, hold: JobHold, at: number): Promise<EntryRow[]> {
      return await end(queries, hold, { posting: null, at, suspended: null })
    },
    /** Releases everything, and books to suspense what the provider may charge the operator nevertheless. */
    async suspend (queries: Queries, hold: JobHold, posting: Posting, at: number): Promise<EntryRow[]> {
      return await end(queries, hold, { posting, at, suspended: 'unverified' })
    }
  }
}
