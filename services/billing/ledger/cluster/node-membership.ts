import { StoreUnavailable } from '../../../store/store.ts'
import type { NodeAllowance, Term } from '../node-allowance.ts'
import { holdState } from '../sql/rows.ts'
import { createStatements } from '../sql/statements.ts'
import type { NodeContext } from '../types.ts'
import type { NodeLiveness } from './node-liveness.ts'
import type { Released, StaleHolds } from './release-dead-nodes.ts'

/** Another process has released this node's holds: nothing granted under the term counts any more. */
export class TermEnded extends Error {
  constructor (term: Term) {
    super(`The term ${term.id} has ended.`)
    this.name = 'TermEnded'
  }
}

interface NodeMembershipContext extends NodeContext {
  liveness: () => Promise<NodeLiveness>
  staleHolds: StaleHolds
  releaseDeadNodes (): Promise<void>
  onReleased (node: string, released: readonly Released[]): void
}

export type NodeMembership = Readonly<ReturnType<typeof createNodeMembership>>

/**
 * Creates this node's membership, a lease that its heartbeats and commits renew. Methods throw
 * StoreUnavailable.
 *
 *     outside ── join ──▶ in a term ── leave ──▶ left
 *        ▲                    │
 *        └─── another node ───┘
 *          released its holds
 *
 * In a term, the node grants from memory until `grantUntilMs`; without a heartbeat until then, only commits
 * grant. Each term has an epoch, and the database rejects writes of an earlier one. One factory, because all
 * methods change the term.
 */
export function createNodeMembership (context: NodeMembershipContext) {
  const { store, node, liveness, staleHolds, releaseDeadNodes, onReleased } = context
  const { options, requestMs, monotonic } = context
  const statements = createStatements(store.engine)
  let joining: Promise<Term> | null = null
  let left = false

  async function register (): Promise<Term> {
    await (await liveness()).enter(node)
    const sentAtMs = monotonic()
    const entered = await staleHolds.releaseNode(enterNode, [node, requestMs()], holdState.revoked)
    if (entered === null) throw new StoreUnavailable(new Error('The node could not be registered'))
    const { epoch, released } = entered
    // Before anything is granted, so that a restart can use what its killed predecessor held.
    await releaseDeadNodes()
    const term = {
      id: `${node}/${epoch}`,
      epoch,
      lastSequence: 0,
      allowances: new Map<string, NodeAllowance>(),
      dirty: new Set<NodeAllowance>()
    }
    membership.term = term
    membership.renewed(term, sentAtMs)
    onReleased(node, released)
    return term
  }

  const membership = {
    /** Null until the node has joined. */
    term: null as Term | null,
    /** Until when to grant from memory: the end of the lease less a margin; monotonic clock. */
    grantUntilMs: -Infinity,

    /** Returns the present term, or begins one. */
    async join (): Promise<Term> {
      if (membership.term !== null) return membership.term
      if (left) throw new StoreUnavailable(new Error('The node has left the cluster'))
      joining ??= register().finally(() => { joining = null })
      return await joining
    },

    renewed (term: Term, sentAtMs: number): void {
      if (membership.term !== term) return
      const untilMs = sentAtMs + options.leaseMs - options.marginMs
      membership.grantUntilMs = Math.max(membership.grantUntilMs, untilMs)
    },

    async heartbeat (): Promise<void> {
      const term = await membership.join()
      const sentAtMs = monotonic()
      if (await statements.heartbeat(store, node, term.epoch, requestMs())) membership.renewed(term, sentAtMs)
      else membership.endTerm(term)
    },

    /** Ends a term that another node has ended; the next `join` begins another. */
    endTerm (term: Term): void {
      if (membership.term !== term) return
      membership.term = null
      membership.grantUntilMs = -Infinity
    },

    /** Releases what the node holds for requests, for good. */
    async leave (): Promise<void> {
      left = true
      // Its callers handle a failure.
      if (joining !== null) await Promise.allSettled([joining])
      const { term } = membership
      if (term !== null) {
        membership.endTerm(term)
        await staleHolds.releaseNode(
          'update node set epoch = epoch + 1 where id = $1 and epoch = $2 returning id, epoch',
          [node, term.epoch], holdState.released)
      }
      (await liveness()).leave()
    }
  }
  return membership
}

const enterNode = `
  insert into node (id, epoch, heartbeat_at, request_ms) values ($1, 1, now_ms(), $2)
  on conflict (id) do update
  set epoch = node.epoch + 1, heartbeat_at = excluded.heartbeat_at, request_ms = excluded.request_ms
  returning id, epoch`
