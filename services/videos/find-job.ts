import { createIds } from '../shared/ids.ts'
import type { JobHold } from '../billing/ledger/hold/job-holds.ts'
import { joinLeft } from '../requests/joins/join-left.ts'
import type { RequestIdentity } from '../requests/joins/joinable.ts'
import { nameReused, tooManyAtOnce } from '../requests/joins/names.ts'
import type { ClientPresence } from '../requests/joins/client-presence.ts'
import { beginJob, reserveVideo, type BeginJobContext } from './begin-job.ts'
import type { Job } from './job.ts'
import type { VideoPlan } from './plan-video.ts'
import type { JobRows } from './rows.ts'

interface JobFinderContext extends BeginJobContext {
  rows: JobRows
  clientPresence: ClientPresence
}

export type FindJob = ReturnType<typeof createJobFinder>

const maxRounds = 5

/**
 * Creates the function that finds the job of a request: one that it joins, or a new one. Its steps are short
 * and share the map of the names that are being looked up.
 */
export function createJobFinder (context: JobFinderContext) {
  const { rows, store } = context
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
    if (job.bodyHash !== bodyHash) throw nameReused()
    // If it was given up since it was read, its name is free by now.
    return await rows.claim(job.id, clientId, null) ? job : null
  }

  /** Null when the key has just got a job with that Idempotency-Key. */
  async function begin (plan: VideoPlan, clientId: string): Promise<Job | null> {
    const id = newId()
    let hold: JobHold | null
    try {
      hold = await reserveVideo(context, id, plan)
    } catch (error) {
      // The missing money may be held for the same request, which another node has received.
      const same = await join(plan, clientId)
      if (same === null) throw error
      return same
    }
    return await beginJob(context, plan, { id, hold, clientId })
  }

  async function joinOrBegin (plan: VideoPlan, clientId: string): Promise<Job> {
    for (let round = 1; round <= maxRounds; round++) {
      const job = await join(plan, clientId) ?? await begin(plan, clientId)
      if (job !== null) return job
    }
    throw tooManyAtOnce()
  }

  /**
   * `clientId` names the client that will wait. Throws GatewayError 402 or 429 when the money does not
   * suffice, 422 when the Idempotency-Key was used for another request; StoreUnavailable.
   */
  return async function findJob (plan: VideoPlan, clientId: string): Promise<Job> {
    const { identity: { key }, payer } = plan
    if (key === null) return await joinOrBegin(plan, clientId)
    // One after the other: else each would hold money before it finds the job of the first.
    const name = `${payer.key} ${key}`
    const before = naming.get(name) ?? Promise.resolve()
    const found = before.then(() => joinOrBegin(plan, clientId))
    const done = found.then(() => {}, () => {})
    naming.set(name, done)
    try {
      return await found
    } finally {
      if (naming.get(name) === done) naming.delete(name)
    }
  }
}
