import { randomUUID } from 'node:crypto'
import { createJsonIds } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'
import type { Job } from '../job.ts'

/** The webhook of a job as stored. Times are ms since 1970. */
export interface JobWebhook {
  id: string
  job: string
  url: string
  type: WebhookType | null
  attempts: number
  nextAttemptAt: number | null
  deliveredAt: number | null
  lastError: string | null
}

export type WebhookType = 'video.completed' | 'video.failed'

/** The URLs that one job may have: each request that joins it may name another. */
const maxUrls = 10

type EndedJob = Pick<Job, 'id' | 'account' | 'state' | 'finishedAt' | 'deletedAt'>

/**
 * Adds a webhook to a job, or does nothing if it has that URL; false if it has too many. Within a
 * transaction.
 */
export async function addWebhook (
  queries: Queries, { id, account }: Pick<Job, 'id' | 'account'>, url: string, nowMs: number
): Promise<boolean> {
  const urls = await queries.all<{ url: string }>('select url from webhook where job = $1', [id])
  if (urls.some(other => other.url === url)) return true
  if (urls.length >= maxUrls) return false
  await queries.run(`
    insert into webhook (id, job, account, url, created_at) values ($1, $2, $3, $4, $5) on conflict do nothing`,
  [`evt_${randomUUID().replaceAll('-', '')}`, id, account, url, nowMs])
  return true
}

/**
 * Makes the messages of a job that has ended due. Within the transaction that ends it. Source of their form:
 * `openai` 7.55 on npm, `resources/webhooks`.
 */
export async function releaseWebhooks (
  queries: Queries, { id, state, finishedAt, deletedAt }: EndedJob
): Promise<void> {
  const type: WebhookType = state === 'succeeded' ? 'video.completed' : 'video.failed'
  const createdAt = Math.floor((finishedAt ?? 0) / 1_000)
  const event = { object: 'event', id: '?', type, created_at: createdAt, data: { id } }
  // The id of each message needs no escapes.
  const [before = '', after = ''] = JSON.stringify(event).split('?')
  await queries.run(`
    update webhook set type = $2, body = cast($3 as text) || id || cast($4 as text), next_attempt_at = now_ms()
    where job = $1 and body is null`, [id, type, before, after])
  if (deletedAt !== null) await withdrawWebhooks(queries, id)
}

/** Gives up the messages of a job that its client has deleted. */
export async function withdrawWebhooks (queries: Queries, job: string): Promise<void> {
  await queries.run(`
    update webhook set next_attempt_at = null, last_error = 'its client has deleted the video'
    where job = $1 and next_attempt_at is not null`, [job])
}

/** Deletes the webhooks of jobs that ended before a time, before the jobs are deleted. */
export async function pruneWebhooks (queries: Queries, beforeMs: number): Promise<void> {
  await queries.run('delete from webhook where job in (select id from job where finished_at < $1)', [beforeMs])
}

/** Returns the webhooks of jobs, in the order in which they were added. */
export async function webhooksOf (
  store: Pick<Store, 'engine' | 'all'>, jobs: readonly string[]
): Promise<JobWebhook[]> {
  const ids = createJsonIds(store.engine)
  return await store.all<JobWebhook>(`
    select id, job, url, type, attempts, next_attempt_at as "nextAttemptAt", delivered_at as "deliveredAt",
      last_error as "lastError"
    from webhook where job in (select id from ${ids.sql} as given) order by created_at, id`, [ids.parameter(jobs)])
}
