import type { JobHold, JobHolds } from '../billing/ledger/hold/job-holds.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import { reserveForJob } from '../requests/request-reservation.ts'
import type { Store } from '../store/store.ts'
import type { Job } from './job.ts'
import type { VideoPlan } from './plan-video.ts'
import type { JobRows } from './rows.ts'

export interface BeginJobContext {
  store: Store
  rows: Pick<JobRows, 'insert'>
  holds: JobHolds
  ledger: Pick<Ledger, 'reserve' | 'forget' | 'node'>
  /** Receives a job that was inserted, for the runner. */
  begin (job: Job): void
  /** Receives the id of a job that may or may not have been inserted. */
  onDoubt (id: string): void
}

/** Longer than it takes from holding the money to inserting the job that takes the hold over. */
const looseHoldMs = 120_000

/** Reserves the most that a video may cost, for its job. Throws GatewayError 402 or 429, StoreUnavailable. */
export async function reserveVideo (
  { ledger, store }: BeginJobContext, id: string, { payer, price: { maxNano }, signal }: VideoPlan
): Promise<JobHold | null> {
  const expiresAt = store.clock() + looseHoldMs
  return await reserveForJob(ledger, payer, { id, maxNano, expiresAt, signal })
}

/**
 * Inserts a job, which takes over what is reserved for it, and begins it. Null when the key has just got a
 * job with that Idempotency-Key: then the money is released. Throws StoreUnavailable.
 */
export async function beginJob (
  { store, rows, holds, ledger, begin, onDoubt }: BeginJobContext, plan: VideoPlan,
  { id, hold, clientId }: { id: string, hold: JobHold | null, clientId: string }
): Promise<Job | null> {
  const job = newJob(plan, { id, hold, owner: ledger.node, nowMs: store.clock() })
  try {
    const isInserted = await store.transaction(async queries => {
      const isNew = await rows.insert(queries, job, clientId, plan.webhookUrl)
      if (isNew && hold !== null) await holds.keep(queries, id)
      if (!isNew && hold !== null) await holds.release(queries, hold, store.clock())
      return isNew
    })
    if (!isInserted) return null
  } catch (error) {
    onDoubt(id)
    throw error
  }
  begin(job)
  return job
}

type JobStart = Pick<Job, 'id' | 'hold' | 'owner'> & { nowMs: number }

function newJob (plan: VideoPlan, { id, hold, owner, nowMs }: JobStart): Job {
  const { payer: { chain, key, tags = null } } = plan
  const { model, candidates, task, price, deadlineMs, identity, baseUrl, isBackground } = plan
  const [account = ''] = chain
  const notSubmitted = { state: 'submitting' as const, handle: null, progress: null, submittedAt: null, polledAt: null }
  const notEnded = { costNano: null, videos: [], failure: null, finishedAt: null, expiresAt: null }
  const background = isBackground ? 1 as const : 0 as const
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
