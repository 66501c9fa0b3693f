import { GatewayError } from '../shared/errors.ts'
import type { JobHold, JobHolds } from '../ledger/hold/job-holds.ts'
import { holdForJob } from '../requests/request-hold.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Store } from '../store/store.ts'
import { joinable, joinMs } from './dedupe.ts'
import type { Attempt } from './dedupe.ts'
import type { Candidate, Job } from './job.ts'
import type { VideoPrice } from '../billing/video-price.ts'
import type { JobRows } from './rows.ts'
import { nodeOf } from './waiter-ids.ts'
import type { Tickets } from './waiter-ids.ts'
import type { JobTask } from '../providers/provider-video.ts'
import type { Payer } from '../billing/payer.ts'

/** A request for a video that was read, checked and priced. */
export interface Order {
  payer: Payer
  model: string
  candidates: readonly Candidate[]
  task: JobTask
  price: VideoPrice
  /** How long the providers may take. */
  deadlineMs: number
  attempt: Attempt
  baseUrl: string
}

interface AdmissionContext {
  store: Store
  rows: JobRows
  holds: JobHolds
  ledger: Pick<Ledger, 'reserve' | 'forget' | 'node'>
  newId: () => string
  clock: () => number
  takeoverMs: () => number
  tickets: Tickets
  /** Hears of jobs that are new. */
  begin (job: Job): void
  /** Hears of a job of which it is not known whether it was inserted. */
  onDoubt (id: string): void
}

/** Finds the job that a request is for: one that it joins, or a new one. */
export interface Admission {
  /**
   * `ticket` is of the client that is going to wait. Throws GatewayError 402 when the money does not suffice,
   * 422 when its key was used for another request, StoreUnavailable.
   */
  admit (order: Order, ticket: string): Promise<Job>
}

/** Longer than it takes from reserving money to inserting the job that takes the hold over. */
const looseHoldMs = 120_000
const maxRounds = 5

/** Creates the way from a request to its job. */
export function createAdmission (context: AdmissionContext): Admission {
  const { rows, store, clock, ledger } = context
  const naming = new Map<string, Promise<void>>()

  async function join (order: Order, ticket: string): Promise<Job | null> {
    const { attempt, payer } = order
    const [account = ''] = payer.chain
    if (attempt.key !== null) return await joinNamed(account, attempt.key, attempt, ticket)
    const nowMs = clock()
    const alike = await rows.alike(account, attempt.bodyHash, {
      sinceMs: nowMs - joinMs.retry, deliveredSinceMs: nowMs - joinMs.delivered, nowMs
    })
    if (alike.length === 0) return null
    const dead = await deadWaiters(alike)
    const isAwaited = ({ waiter }: Job): boolean => {
      if (waiter === null) return false
      const node = nodeOf(waiter)
      return node === ledger.node ? context.tickets.isGood(waiter) : !dead.has(node)
    }
    for (const job of joinable(alike, attempt, nowMs, isAwaited)) {
      // Of two requests that want the same job, one gets it.
      if (job.delivered || await rows.claim(job.id, ticket, job.waiter)) return await rows.get(job.id) ?? null
    }
    return null
  }

  async function joinNamed (
    account: string, key: string, { bodyHash }: Attempt, ticket: string
  ): Promise<Job | null> {
    const job = await rows.named(account, key)
    if (job === undefined) return null
    if (job.expiresAt !== null && job.expiresAt <= clock()) {
      await rows.forgetName(job.id, clock())
      return null
    }
    if (job.bodyHash !== bodyHash) {
      throw new GatewayError(422, 'invalid_request_error',
        'This Idempotency-Key was used for another request. Use a new key, or send the same request again.',
        { code: 'idempotency_key_reused', headers: { 'x-should-retry': 'false' } })
    }
    await rows.claim(job.id, ticket, job.waiter)
    return job
  }

  /** The nodes where clients seem to wait, but which have been silent for too long. */
  async function deadWaiters (jobs: readonly Job[]): Promise<Set<string>> {
    const nodes = new Set(jobs.flatMap(({ waiter }) => waiter === null ? [] : [nodeOf(waiter)]))
    nodes.delete(ledger.node)
    const dead = new Set<string>()
    for (const node of nodes) {
      const seen = await store.get<{ at: number }>(
        'select heartbeat_at as at from node where id = $1', [node])
      if (clock() - (seen?.at ?? 0) > context.takeoverMs()) dead.add(node)
    }
    return dead
  }

  /** Null when the account has just got a job of that name. */
  async function create (order: Order, ticket: string): Promise<Job | null> {
    const id = context.newId()
    const expiresAt = clock() + looseHoldMs
    let hold: JobHold | null
    try {
      hold = await holdForJob(ledger, order.payer, { id, maxNano: order.price.maxNano, expiresAt })
    } catch (error) {
      // What the account lacks may be held for the very same request, which another node has got.
      const same = await join(order, ticket)
      if (same === null) throw error
      return same
    }
    const job = newJob(id, order, { hold, node: ledger.node, ticket, nowMs: clock() })
    try {
      const inserted = await store.transaction(async queries => {
        const isNew = await rows.insert(queries, job)
        if (isNew && hold !== null) await context.holds.keep(queries, id)
        if (!isNew && hold !== null) await context.holds.release(queries, hold, clock())
        return isNew
      })
      if (!inserted) return null
    } catch (error) {
      context.onDoubt(id)
      throw error
    }
    context.begin(job)
    return job
  }

  async function find (order: Order, ticket: string): Promise<Job> {
    for (let round = 1; round <= maxRounds; round++) {
      const job = await join(order, ticket) ?? await create(order, ticket)
      if (job !== null) return job
    }
    throw GatewayError.unavailable('Too many requests with this Idempotency-Key come at once.')
  }

  return {
    async admit (order, ticket) {
      const { attempt: { key }, payer: { chain } } = order
      if (key === null) return await find(order, ticket)
      // One after the other: each would hold the money for itself before it finds that the job is there.
      const name = `${chain[0]} ${key}`
      const before = naming.get(name)
      const found = (before ?? Promise.resolve()).then(() => find(order, ticket))
      const done = found.then(() => {}, () => {})
      naming.set(name, done)
      try {
        return await found
      } finally {
        if (naming.get(name) === done) naming.delete(name)
      }
    }
  }
}

function newJob (
  id: string, order: Order, { hold, node, ticket, nowMs }: { hold: Job['hold'], node: string, ticket: string, nowMs: number }
): Job {
  const { payer: { chain, key }, model, candidates, task, price, deadlineMs, attempt, baseUrl } = order
  const [account = ''] = chain
  return {
    id,
    account,
    apiKey: key,
    chain,
    model,
    candidates,
    candidate: 0,
    dedupe: attempt.key,
    bodyHash: attempt.bodyHash,
    task,
    baseUrl,
    state: 'submitting',
    owner: node,
    fence: 0,
    handle: null,
    progress: null,
    // The intent to submit is on disk before anything is sent.
    attempts: 1,
    deadlineAt: nowMs + deadlineMs,
    hold,
    secondNano: price.secondNano,
    seconds: price.seconds,
    costNano: null,
    waiter: ticket,
    waiterLeftAt: null,
    delivered: false,
    cancel: false,
    videos: [],
    failure: null,
    createdAt: nowMs,
    submittedAt: null,
    finishedAt: null,
    expiresAt: null
  }
}
