import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import type { JobHold, JobHolds } from '../ledger/hold/job-holds.ts'
import { holdForJob } from '../requests/request-hold.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Store } from '../store/store.ts'
import { joinable, joinMs, type RequestIdentity } from '../joins/joinable.ts'
import type { WaitingClients } from '../joins/waiting-clients.ts'
import type { JobCandidate, Job } from './job.ts'
import type { VideoPrice } from '../billing/video-price.ts'
import type { JobRows } from './rows.ts'
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
  waiters: WaitingClients
  begin (job: Job): void
  /** Receives the id of a job that may or may not have been inserted. */
  onDoubt (id: string): void
}

export type FindJob = ReturnType<typeof createJobFinder>

/** Longer than it takes from holding the money to inserting the job that takes the hold over. */
const looseHoldMs = 120_000
const maxRounds = 5
/** How often a retry looks whether the first attempt's client has left. */
const lookMs = 100

/** Creates the function that finds the job of a request: one that it joins, or a new one. */
export function createJobFinder (context: JobFinderContext) {
  const { rows, store, ledger } = context
  const newId = createIds('job_')
  const naming = new Map<string, Promise<void>>()

  async function join (order: VideoOrder, waiterId: string): Promise<Job | null> {
    const { identity, payer } = order
    if (identity.key !== null) return await joinNamed(payer.key, identity.key, identity, waiterId)
    const arrivedAt = store.clock()
    for (;;) {
      const { joined, isUnsure } = await joinAlike(order, waiterId, arrivedAt)
      // The first connection of a retry may be broken without its node having noticed yet.
      if (joined !== null || !isUnsure || identity.retryCount === 0) return joined
      await pause(order.signal)
    }
  }

  /** `isUnsure`: a client that waits for such a job may have left. */
  async function joinAlike ({ identity, payer }: VideoOrder, waiterId: string, arrivedAt: number) {
    const nowMs = store.clock()
    const alike = await rows.alike(payer.key, identity.bodyHash, { sinceMs: nowMs - joinMs.retry, nowMs })
    const waiting = alike.length === 0 ? [] : await context.waiters.of(alike.map(({ id }) => id))
    const standings = waiting.map(one =>
      ({ ...one, standing: context.waiters.standing(one, arrivedAt, nowMs) }))
    const of = ({ id }: Job) => standings.filter(({ work }) => work === id)
    const isAwaited = (job: Job): boolean => of(job).some(({ standing }) => standing !== 'lost')
    for (const job of joinable(alike, identity, nowMs, isAwaited)) {
      // Of two requests for the same job, one gets it.
      const isJoined = await rows.claim(job.id, waiterId, of(job).map(({ id }) => id))
      if (isJoined) return { joined: await rows.get(job.id) ?? null, isUnsure: false }
    }
    return { joined: null, isUnsure: standings.some(({ standing }) => standing === 'unsure') }
  }

  async function joinNamed (
    apiKey: string, key: string, { bodyHash }: RequestIdentity, waiterId: string
  ): Promise<Job | null> {
    const job = await rows.named(apiKey, key)
    if (job === undefined) return null
    const isOver = job.state === 'cancelled' || job.cancel || (job.expiresAt !== null && job.expiresAt <= store.clock())
    if (isOver) {
      await rows.forgetName(job.id, store.clock())
      return null
    }
    if (job.bodyHash !== bodyHash) {
      throw new GatewayError(422, 'invalid_request_error',
        'This Idempotency-Key was used for another request. Use a new key, or send the same request again.',
        { code: 'idempotency_key_reused', headers: { 'x-should-retry': 'false' } })
    }
    // If it was given up since it was read, its name is free by now.
    return await rows.claim(job.id, waiterId, null) ? job : null
  }

  /** Null when the key has just got a job with that Idempotency-Key. */
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
    const job = newJob(order, { id, hold, owner: ledger.node, nowMs: store.clock() })
    try {
      const inserted = await store.transaction(async queries => {
        const isNew = await rows.insert(queries, job, waiterId)
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
    const { identity: { key }, payer } = order
    if (key === null) return await joinOrCreate(order, waiterId)
    // One after the other: each would hold its own money before it finds the job of the first.
    const name = `${payer.key} ${key}`
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

/** Throws UpstreamError `aborted` when the client disconnects. */
async function pause (signal: AbortSignal): Promise<void> {
  try {
    await sleep(lookMs, undefined, { signal })
  } catch (cause) {
    throw new UpstreamError('aborted', 'no', 'The request was aborted while it looked for its job.', { cause })
  }
}

type JobStart = Pick<Job, 'id' | 'hold' | 'owner'> & { nowMs: number }

function newJob (order: VideoOrder, { id, hold, owner, nowMs }: JobStart): Job {
  const { payer: { chain, key, tags = null } } = order
  const { model, candidates, task, price, deadlineMs, identity, baseUrl } = order
  const [account = ''] = chain
  const notSubmitted = { state: 'submitting' as const, handle: null, progress: null, submittedAt: null }
  const notEnded = { costNano: null, videos: [], failure: null, finishedAt: null, expiresAt: null }
  const awaited = { waiterLeftAt: null, delivered: false, cancel: false }
  return {
    ...notSubmitted,
    ...notEnded,
    ...awaited,
    copyError: null,
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
