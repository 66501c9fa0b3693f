import { createJsonIds } from '../store/json-rows.ts'
import type { Queries, Store } from '../store/store.ts'
import type { ClientPresence } from '../requests/joins/client-presence.ts'
import type { LiveJob } from './job.ts'
import { columns, toJob, type JobRow } from './job-row.ts'
import { addWebhook, releaseWebhooks } from './webhooks/webhook-rows.ts'

/**
 * Creates the statements on the clients of jobs, which wait for them or have received their ids: a short
 * method each. Methods throw StoreUnavailable.
 */
export function createClientRows (store: Store, node: string, clientPresence: ClientPresence) {
  const ids = createJsonIds(store.engine)

  /** Locks a job that clients may wait for; false if there is none. */
  async function lock (queries: Queries, id: string): Promise<boolean> {
    return await queries.run(
      'update job set waiter_left_at = waiter_left_at where id = $1 and cancel = 0', [id]) === 1
  }

  async function markLeft (queries: Queries, jobs: readonly string[], nowMs: number): Promise<void> {
    await queries.run(`
      update job set waiter_left_at = $2
      where id in (select id from ${ids.sql} as given)
      and not exists (select 1 from waiter where work = job.id)`,
    [ids.parameter(jobs), nowMs])
  }

  return {
    /**
     * Adds a waiting client, in the place of the clients `lost`, which have left. Null for a request with an
     * Idempotency-Key: the job may have others, and may be delivered. False if the job cannot be joined.
     */
    async claim (id: string, clientId: string, lost: readonly string[] | null): Promise<boolean> {
      return await store.transaction(async queries => {
        // Its client may have received it since it was found.
        const locked = await queries.run(`
          update job set waiter_left_at = waiter_left_at
          where id = $1 and cancel = 0 and deleted_at is null
          and ((delivered = 0 and background < 2) or $2 = 1)`, [id, lost === null ? 1 : 0])
        if (locked === 0 || !await clientPresence.join(queries, id, { clientId, lost })) return false
        await queries.run('update job set waiter_left_at = null where id = $1', [id])
        return true
      })
    },

    /** Records that a client no longer waits. */
    async leave (id: string, clientId: string, nowMs: number): Promise<void> {
      await store.transaction(async queries => {
        await lock(queries, id)
        if (await clientPresence.remove(queries, clientId)) await markLeft(queries, [id], nowMs)
      })
    },

    /** Records that a client has received the whole response. */
    async deliver (id: string, clientId: string): Promise<void> {
      await store.transaction(async queries => {
        await queries.run('update job set delivered = 1 where id = $1', [id])
        await clientPresence.remove(queries, clientId)
      })
    },

    /** Adds a webhook to a job, due at once if the job has ended; false if the job has too many already. */
    async addWebhook (id: string, url: string, nowMs: number): Promise<boolean> {
      return await store.transaction(async queries => {
        // Locks it: it may end meanwhile.
        await queries.run('update job set waiter_left_at = waiter_left_at where id = $1', [id])
        const row = await queries.get<JobRow>(`select ${columns} from job where id = $1`, [id])
        if (row === undefined) return true
        const job = toJob(row)
        if (!await addWebhook(queries, job, url, nowMs)) return false
        if (job.finishedAt !== null) await releaseWebhooks(queries, job)
        return true
      })
    },

    /** Records that a client will now get the id of its job, which then goes on without waiting clients. */
    async beginBackground (id: string): Promise<void> {
      await store.run('update job set background = 1 where id = $1 and background = 0', [id])
    },

    /** Records whether that client has received the id; if no client has, the job needs one that waits. */
    async endBackground (id: string, clientId: string, isReceived: boolean, nowMs: number): Promise<void> {
      await store.transaction(async queries => {
        await queries.run(`
          update job set background = $2 where id = $1 and background < $3`,
        [id, isReceived ? 2 : 0, isReceived ? 3 : 2])
        await clientPresence.remove(queries, clientId)
        await markLeft(queries, [id], nowMs)
      })
    },

    /** Forgets the clients that waited on dead nodes. */
    async forgetWaiters (dead: readonly string[], nowMs: number): Promise<void> {
      await store.transaction(async queries => {
        await queries.run(`
          update job set waiter_left_at = waiter_left_at where id in (
            select work from waiter where node in (select id from ${ids.sql} as given))`, [ids.parameter(dead)])
        const left = await clientPresence.forget(queries, dead)
        if (left.length > 0) await markLeft(queries, left, nowMs)
      })
    },

    /**
     * Gives up a job that was deleted, or that no client has waited for since `leftMs`, and frees its
     * Idempotency-Key; false if one waits. Until `keep` no request joins it.
     */
    async giveUp ({ id, fence }: Pick<LiveJob, 'id' | 'fence'>, leftMs: number): Promise<boolean> {
      return await store.run(`
        update job set cancel = 2, dedupe = null
        where id = $1 and owner = $2 and fence = $3 and finished_at is null and cancel in (0, 2)
        and ((background = 0 and waiter_left_at <= $4) or deleted_at is not null)`, [id, node, fence, leftMs]) === 1
    },

    /** Takes `giveUp` back, except for the Idempotency-Key. */
    async keep (id: string): Promise<void> {
      await store.run('update job set cancel = 0 where id = $1 and cancel = 2', [id])
    }
  }
}
