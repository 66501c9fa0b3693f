import { GatewayError } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import type { JobHold, JobHolds } from '../ledger/hold/job-holds.ts'
import { holdForJob } from '../requests/request-hold.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Store } from '../store/store.ts'
import { joinableJobs, joinMs, type RequestIdentity } from './dedupe.ts'
import type { JobCandidate, Job } from './job.ts'
import type { VideoPrice } from '../billing/video-price.ts'
import type { JobRows } from './rows.ts'
import { nodeOf, type WaiterIds } from './waiter-ids.ts'
import type { JobTask } from '../providers/provider-video.ts'
import type { Payer } from '../billing/payer.ts'

/** A checked and priced request for a video. */
export interface VideoOrder {
  payer: Payer
  model: string
  candidates: readonly JobCandidate[]
  task: JobTask
  price: VideoPrice
  /** How long the provider may take. */
  deadlineMs: number
  identity: RequestIdentity
  baseUrl: string
  /** Aborted when the client disconnects. */
  signal: AbortSignal
}

interface JobFinderContext {
  store: Store
  rows: JobRows
  holds: JobHolds
  ledger: Pick<Ledger, 'reserve' | 'forget' | 'node'>
  /** A node whose heartbeat is older is dead. */
  takeoverMs: number
  waiterIds: WaiterIds
  begin (job: Job): void
  /** Receives the id of a job that may or may not have been inserted. */
  onDoubt (id: string): void
}

export type FindJob = ReturnType<typeof createJobFinder>

/** Longer than it takes from holding the money to inserting the job that takes the hold over. */
const looseHoldMs = 120_000
const maxRounds = 5

/** Creates the function that finds the job of a request: one that it joins, or a new one. */
export function createJobFinder (context: JobFinderContext) {
  const { rows, store, ledger } = context
  const newId = createIds('job_')
  const naming = new Map<string, Promise<void>>()

  async function join (order: VideoOrder, waiterId: string): Promise<Job | null> {
    const { identity, payer } = order
    const [account = ''] = payer.chain
    if (identity.key !== null) return await joinNamed(account, identity.key, identity, waiterId)
    const nowMs = store.clock()
    const alike = await rows.alike(account, identity.bodyHash, {
      sinceMs: nowMs - joinMs.retry, deliveredSinceMs: nowMs - joinMs.delivered, nowMs
    })
    if (alike.length === 0) return null
    const dead = await deadWaiters(alike)
    const isAwaited = ({ waiter }: Job): boolean => {
      if (waiter === null) return false
      const node = nodeOf(waiter)
      return node === ledger.node ? context.waiterIds.isWaiting(waiter) : !dead.has(node)
    }
    for (const job of joinableJobs(alike, identity, nowMs, isAwaited)) {
      // Of two requests for the same job, one gets it.
      const isJoined = job.delivered || await rows.claim(job.id, waiterId, job.waiter)
      if (isJoined) return await rows.get(job.id) ?? null
    }
    return null
  }

  async function joinNamed (
    account: string, key: string, { bodyHash }: RequestIdentity, waiterId: string
  ): Promise<Job | null> {
    const job = await rows.named(account, key)
    if (job === undefined) return null
    if (job.expiresAt !== null && job.expiresAt <= store.clock()) {
      await rows.forgetName(job.id, store.clock())
      return null
    }
    if (job.bodyHash !== bodyHash) {
      throw new GatewayError(422, 'invalid_request_error',
        'This Idempotency-Key was used for another request. Use a new key, or send the same request again.',
        { code: 'idempotency_key_reused', headers: { 'x-should-retry': 'false' } })
    }
    await rows.claim(job.id, waiterId, job.waiter)
    return job
  }

  /** The nodes of waiting clients whose heartbeat is overdue. */
  async function deadWaiters (jobs: readonly Job[]): Promise<Set<string>> {
    const nodes = new Set(jobs.flatMap(({ waiter }) => waiter === null ? [] : [nodeOf(waiter)]))
    nodes.delete(ledger.node)
    const dead = new Set<string>()
    for (const node of nodes) {
      const seen = await store.get<{ silentMs: number }>(
        'select now_ms() - heartbeat_at as "silentMs" from node where id = $1', [node])
      if ((seen?.silentMs ?? Infinity) > context.takeoverMs) dead.add(node)
    }
    return dead
  }

  /** Null when the account has just got a job with that Idempotency-Key. */
  async function create (order: VideoOrder, waiterId: string): Promise<Job | null> {
    const { payer, price, signal } = order
    const id = newId()
    const expiresAt = store.clock() + looseHoldMs
    let hold: JobHold | null
    try {
      hold = await holdForJob(ledger, payer, { id, maxNano: price.maxNano, expiresAt, signal })
    } catch (error) {
      // The missing money may be held for the same request, which another node has received.
      const same = await join(order, waiterId)
      if (same === null) throw error
      return same
    }
    const job = newJob(order, { id, hold, owner: ledger.node, waiter: waiterId, nowMs: store.clock() })
    try {
      const inserted = await store.transaction(async queries => {
        const isNew = await rows.insert(queries, job)
        if (isNew && hold !== null) await context.holds.keep(queries, id)
        if (!isNew && hold !== null) await context.holds.release(queries, hold, store.clock())
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

  async function joinOrCreate (order: VideoOrder, waiterId: string): Promise<Job> {
    for (let round = 1; round <= maxRounds; round++) {
      const job = await join(order, waiterId) ?? await create(order, waiterId)
      if (job !== null) return job
    }
    throw GatewayError.unavailable('Too many requests with this Idempotency-Key arrive at once.')
  }

  /**
   * `waiterId` is that of the client that will wait. Throws GatewayError 402 or 429 when the money does not
   * suffice, 422 when the Idempotency-Key was used for another request; StoreUnavailable.
   */
  return async function findJob (order: VideoOrder, waiterId: string): Promise<Job> {
    const { identity: { key }, payer: { chain } } = order
    if (key === null) return await joinOrCreate(order, waiterId)
    // One after the other: each would hold its own money before it finds the job of the first.
    const name = `${chain[0]} ${key}`
    const before = naming.get(name) ?? Promise.resolve()
    const found = before.then(() => joinOrCreate(order, waiterId))
    const done = found.then(() => {}, () => {})
    naming.set(name, done)
    try {
      return await found
    } finally {
      if (naming.get(name) === done) naming.delete(name)
    }
  }
}

type JobStart = Pick<Job, 'id' | 'hold' | 'owner' | 'waiter'> & { nowMs: number }

function newJob (order: VideoOrder, { id, hold, owner, waiter, nowMs }: JobStart): Job {
  const { payer: { chain, key, tags = null } } = order
  const { model, candidates, task, price, deadlineMs, identity, baseUrl } = order
  const [account = ''] = chain
  const notSubmitted = { state: 'submitting' as const, handle: null, progress: null, submittedAt: null }
  const notEnded = { costNano: null, videos: [], failure: null, finishedAt: null, expiresAt: null }
  const awaited = { waiter, waiterLeftAt: null, delivered: false, cancel: false }
  return {
    ...notSubmitted,
    ...notEnded,
    ...awaited,
    id,
    account,
    apiKey: key,
    chain,
    tags,
    model,
    candidates,
    candidate: 0,
    dedupe: identity.key,
    bodyHash: identity.bodyHash,
    task,
    baseUrl,
    owner,
    fence: 0,
    // The intent to submit is on disk before anything is sent.
    attempts: 1,
    deadlineAt: nowMs + deadlineMs,
    hold,
    secondNano: price.secondNano,
    seconds: price.seconds,
    createdAt: nowMs
  }
}
