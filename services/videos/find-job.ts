import { createIds } from '../shared/ids.ts'
import type { JobHold, JobHolds } from '../billing/ledger/hold/job-holds.ts'
import { reserveForJob } from '../requests/request-reservation.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import type { Store } from '../store/store.ts'
import { joinLeft } from '../requests/joins/join-left.ts'
import type { RequestIdentity } from '../requests/joins/joinable.ts'
import { nameReused, tooManyAtOnce } from '../requests/joins/names.ts'
import type { ClientPresence } from '../requests/joins/client-presence.ts'
import type { Background, Job } from './job.ts'
import type { VideoPlan } from './plan-video.ts'
import type { JobRows } from './rows.ts'

interface JobFinderContext {
  store: Store
  rows: JobRows
  holds: JobHolds
  ledger: Pick<Ledger, 'reserve' | 'forget' | 'node'>
  clientPresence: ClientPresence
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

  async function join (plan: VideoPlan, clientId: string): Promise<Job | null> {
    const { identity, payer } = plan
    if (identity.key !== null) return await joinNamed(payer.key, identity.key, identity, clientId)
    const { clientPresence } = context
    const client = { apiKey: payer.key, identity, clientId, signal: plan.signal }
    const left = await joinLeft({ rows, clientPresence, clock: store.clock, ...client })
    // Its state may have changed since it was read.
    return left === null ? null : await rows.get(left.id) ?? null
  }

  async function joinNamed (
    apiKey: string, key: string, { bodyHash }: RequestIdentity, clientId: string
  ): Promise<Job | null> {
    const job = await rows.named(apiKey, key)
    if (job === undefined) return null
    const isOver = job.state === 'cancelled' || job.cancel || (job.expiresAt !== null && job.expiresAt <= store.clock())
    if (isOver) {
      await rows.forgetName(job.id, store.clock())
      return null
    }
    if (job.bodyHash !== bodyHash) {
      throw nameReused()
    }
    // If it was given up since it was read, its name is free by now.
    return await rows.claim(job.id, clientId, null) ? job : null
  }

  /** Null when the key has just got a job with that Idempotency-Key. */
  async function create (plan: VideoPlan, clientId: string): Promise<Job | null> {
    const { payer, price, signal } = plan
    const id = newId()
    const expiresAt = store.clock() + looseHoldMs
    let hold: JobHold | null
    try {
      hold = await reserveForJob(ledger, payer, { id, maxNano: price.maxNano, expiresAt, signal })
    } catch (error) {
      // The missing money may be held for the same request, which another node has received.
      const same = await join(plan, clientId)
      if (same === null) throw error
      return same
    }
    const job = newJob(plan, { id, hold, owner: ledger.node, nowMs: store.clock() })
    try {
      const inserted = await store.transaction(async queries => {
        const isNew = await rows.insert(queries, job, clientId, plan.webhookUrl)
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

  async function joinOrCreate (plan: VideoPlan, clientId: string): Promise<Job> {
    for (let round = 1; round <= maxRounds; round++) {
      const job = await join(plan, clientId) ?? await create(plan, clientId)
      if (job !== null) return job
    }
    throw tooManyAtOnce()
  }

  /**
   * `clientId` is that of the client that will wait. Throws GatewayError 402 or 429 when the money does not
   * suffice, 422 when the Idempotency-Key was used for another request; StoreUnavailable.
   */
  return async function findJob (plan: VideoPlan, clientId: string): Promise<Job> {
    const { identity: { key }, payer } = plan
    if (key === null) return await joinOrCreate(plan, clientId)
    // One after the other: each would hold its own money before it finds the job of the first.
    const name = `${payer.key} ${key}`
    const before = naming.get(name) ?? Promise.resolve()
    const found = before.then(() => joinOrCreate(plan, clientId))
    const done = found.then(() => {}, () => {})
    naming.set(name, done)
    try {
      return await found
    } finally {
      if (naming.get(name) === done) naming.delete(name)
    }
  }
}

type JobStart = Pick<Job, 'id' | 'hold' | 'owner'> & { nowMs: number }

function newJob (plan: VideoPlan, { id, hold, owner, nowMs }: JobStart): Job {
  const { payer: { chain, key, tags = null } } = plan
  const { model, candidates, task, price, deadlineMs, identity, baseUrl, isBackground } = plan
  const [account = ''] = chain
  const notSubmitted = { state: 'submitting' as const, handle: null, progress: null, submittedAt: null, polledAt: null }
  const notEnded = { costNano: null, videos: [], failure: null, finishedAt: null, expiresAt: null }
  const background: Background = isBackground ? 1 : 0
  const awaited = { waiterLeftAt: null, delivered: false, background, cancel: false }
  return {
    ...notSubmitted,
    ...notEnded,
    ...awaited,
    copyError: null,
    deletedAt: null,
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
