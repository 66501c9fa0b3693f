import type { Queries, Store } from '../../store/store.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { LedgerOptions } from '../options.ts'
import { holdState } from '../sql/postings.ts'
import type { Presence } from './node-liveness.ts'
import type { Reclaim, Returned } from './release-dead-nodes.ts'
import type { Share, Term } from '../node-allowance.ts'
import { createStatements } from '../sql/statements.ts'

/**
 * Another process has given this node's holds back: nothing that was granted under the term counts any more.
 */
export class TermOver extends Error {
  constructor (term: Term) {
    super(`The term ${term.id} is over.`)
    this.name = 'TermOver'
  }
}

/** This node among the others. */
export interface Lease {
  /** Null until the node is registered. */
  readonly term: Term | null
  /** Until when reservations may be granted from memory, on the monotonic clock. */
  readonly grantUntilMs: number
  /** Returns the present term, registering the node when there is none. Throws StoreUnavailable. */
  ensure (): Promise<Term>
  /** Notes that the database has seen the node; `sentAtMs`, monotonic, is from before it was asked. */
  renewed (term: Term, sentAtMs: number): void
  /** Gives a sign of life. Throws StoreUnavailable. */
  beat (): Promise<void>
  /** Starts over under another term when this one was taken away. */
  lost (term: Term): void
  /** Gives everything back that the node holds for requests, for good. Throws StoreUnavailable. */
  resign (): Promise<void>
}

interface LeaseContext {
  store: Store
  node: string
  presence: () => Promise<Presence>
  reclaim: Reclaim
  /** Takes back what dead nodes hold. */
  takeFromGone (): Promise<void>
  options: LedgerOptions
  clock: () => number
  monotonic: () => number
  /** Hears of money that an earlier life of this node had on hold. */
  onReturned (node: string, returned: readonly Returned[]): void
}

/** Creates the membership of a node, which registers itself when it is needed first. */
export function createLease (context: LeaseContext): Lease {
  const { store, node, presence, reclaim, takeFromGone, options, clock, monotonic, onReturned } = context
  const { fence } = createStatements(store.engine)
  let registering: Promise<Term> | null = null
  let resigned = false

  async function register (): Promise<Term> {
    const own = await presence()
    await own.enter(node)
    const sentAtMs = monotonic()
    const { epoch, returned } = await store.transaction(async (queries) => {
      const epoch = await nextEpoch(queries, node, clock())
      return { epoch, returned: await reclaim.giveBack(queries, node, holdState.reclaimed, clock()) }
    })
    // Before anything is granted, so that a restart does not refuse what its killed predecessor held.
    await takeFromGone()
    const term = {
      id: `${node}/${epoch}`, epoch, numbered: 0, shares: new Map<string, Share>(), dirty: new Set<Share>()
    }
    lease.term = term
    lease.renewed(term, sentAtMs)
    onReturned(node, returned)
    return term
  }

  const lease = {
    term: null as Term | null,
    grantUntilMs: -Infinity,

    async ensure () {
      if (lease.term !== null) return lease.term
      if (resigned) throw new StoreUnavailable(new Error('The node has resigned'))
      registering ??= register().finally(() => { registering = null })
      return await registering
    },

    renewed (term: Term, sentAtMs: number) {
      if (lease.term !== term) return
      lease.grantUntilMs = Math.max(lease.grantUntilMs, sentAtMs + options.leaseMs - options.marginMs)
    },

    async beat () {
      const term = await lease.ensure()
      const sentAtMs = monotonic()
      if (await fence(store, node, term.epoch, clock())) lease.renewed(term, sentAtMs)
      else lease.lost(term)
    },

    lost (term: Term) {
      if (lease.term !== term) return
      lease.term = null
      lease.grantUntilMs = -Infinity
    },

    async resign () {
      resigned = true
      // Whoever waits for it hears of its failure.
      if (registering !== null) await Promise.allSettled([registering])
      const { term } = lease
      if (term !== null) {
        lease.lost(term)
        await store.transaction(async (queries) => {
          const fenced = await queries.run(
            'update node set epoch = epoch + 1 where id = $1 and epoch = $2', [node, term.epoch])
          if (fenced === 1) await reclaim.giveBack(queries, node, holdState.released, clock())
        })
      }
      (await presence()).leave()
    }
  }
  return lease
}

async function nextEpoch (queries: Queries, node: string, nowMs: number): Promise<number> {
  const registered = await queries.get<{ epoch: number }>(`
    insert into node (id, epoch, beat) values ($1, 1, $2)
    on conflict (id) do update set epoch = node.epoch + 1, beat = excluded.beat returning epoch`, [node, nowMs])
  if (registered === undefined) throw new StoreUnavailable(new Error('The node could not be registered'))
  return registered.epoch
}
