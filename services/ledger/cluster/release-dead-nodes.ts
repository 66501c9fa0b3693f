import type { Queries, Store } from '../../store/store.ts'
import { createStatements } from '../sql/statements.ts'
import type { Statements } from '../sql/statements.ts'
import { holdState } from '../sql/postings.ts'
import { createIdTable } from '../../store/json-rows.ts'

/** A node that is not this one and still has money on hold. */
export interface OtherNode { id: string, epoch: number, beat: number }

/** What was given back to an account. Integer nano-USD. */
export interface Returned { account: string, amountNano: number }

const maxExpiredAtOnce = 500
const ofNode = "owner = $1 and kind in ('node', 'request') and state = 0"

/** Ways to give holds back without their owner's help. Methods throw StoreUnavailable. */
export type Reclaim = ReturnType<typeof createReclaim>

/** Creates the ways to give back what dead nodes and forgotten jobs hold. */
export function createReclaim (store: Store) {
  const statements = createStatements(store.engine)
  const ids = createIdTable(store.engine)
  return {
    /** The nodes, other than one, whose holds may have to be given back. */
    async candidates (except: string): Promise<OtherNode[]> {
      return await store.all<OtherNode>(`
        select id, epoch, beat from node where id <> $1 and exists (
          select 1 from hold where owner = node.id and kind in ('node', 'request') and state = 0)`, [except])
    },

    /**
     * Gives back what a node holds for requests, in a transaction in which its epoch was raised or it ends
     * itself; after that, what it still writes is refused.
     */
    async giveBack (
      queries: Queries, node: string, state: 2 | 3, nowMs: number
    ): Promise<Returned[]> {
      const accounts = await queries.all<{ account: string }>(
        `select distinct account from hold where ${ofNode}`, [node])
      await statements.lockAccounts(queries, accounts.map(({ account }) => account), '')
      const returned = await queries.all<Returned>(`
        update hold set state = $2, resolved_at = $3, spare = 0, wanted = 0
        where ${ofNode} returning account, amount as "amountNano"`, [node, state, nowMs])
      return await unhold(statements, queries, returned)
    },

    /**
     * Takes back everything of a dead node. Returns what that was, null when it has come back to life or
     * another node was faster.
     */
    async takeFrom ({ id, epoch, beat }: OtherNode, nowMs: number): Promise<Returned[] | null> {
      return await store.transaction(async (queries) => {
        const fenced = await queries.run(
          'update node set epoch = epoch + 1 where id = $1 and epoch = $2 and beat = $3', [id, epoch, beat])
        return fenced === 0 ? null : await this.giveBack(queries, id, holdState.reclaimed, nowMs)
      })
    },

    /**
     * Gives back durable holds whose time is over, at most some hundreds at once, and returns what they
     * were.
     */
    async expire (nowMs: number): Promise<Returned[]> {
      const due = await store.all<{ id: string, account: string }>(`
        select id, account from hold where state = 0 and expires_at is not null and expires_at <= $1
        order by expires_at limit ${maxExpiredAtOnce}`, [nowMs])
      if (due.length === 0) return []
      return await store.transaction(async (queries) => {
        // A hold ends on all accounts of its chain, and the limit may have cut one in two.
        const given = ids.parameter(new Set(due.map(({ id }) => id)))
        const accounts = await queries.all<{ account: string }>(
          `select distinct account from hold where id in (select id from ${ids.sql} as given)`, [given])
        await statements.lockAccounts(queries, accounts.map(({ account }) => account), '')
        const returned = await queries.all<Returned>(`
          update hold set state = ${holdState.reclaimed}, resolved_at = $2
          where state = 0 and id in (select id from ${ids.sql} as given)
          returning account, amount as "amountNano"`, [given, nowMs])
        return await unhold(statements, queries, returned)
      })
    }
  }
}

async function unhold (
  statements: Statements, queries: Queries, returned: readonly Returned[]
): Promise<Returned[]> {
  const sums = new Map<string, number>()
  for (const { account, amountNano } of returned) sums.set(account, (sums.get(account) ?? 0) + amountNano)
  const merged = Array.from(sums, ([account, amountNano]) => ({ account, amountNano }))
  await statements.changeAccounts(queries, merged.map(({ account, amountNano }) => (
    { id: account, spent: 0, held: -amountNano })))
  return merged.filter(({ amountNano }) => amountNano > 0)
}
