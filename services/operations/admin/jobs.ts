import type { AdminJob, AdminJobWithTimeline, JobQuery } from '../../../schemas/admin/jobs.ts'
import { recordChange } from '../../store/audit.ts'
import { exactUsd } from '../reports/exact-json.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isoTime, isoTimeOrNull } from '../../shared/iso-time.ts'
import type { Store, Value } from '../../store/store.ts'
import { beginsWith } from '../../store/name-search.ts'
import { whereClause } from '../../store/where-clause.ts'
import { columns, toJob, type JobRow } from '../../videos/job-row.ts'
import { webhooksOf, type JobWebhook } from '../../videos/webhooks/webhook-rows.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { timelineOf } from './job-timeline.ts'
import { requireOwn } from './own-account.ts'
import { readPage, type Page, type ListRequest } from './page.ts'

export type JobRequest = ListRequest<JobQuery>

interface ShownRow extends JobRow { waiters: number }
type ShownJob = ShownRow & { webhooks: readonly JobWebhook[] }

const shown = `${columns}, (select count(*) from waiter where work = job.id) as waiters`

/** Lists jobs, newest first. Throws GatewayError 400 for a wrong page. */
export async function listJobs (
  { store }: Administration, request: JobRequest = {}
): Promise<Page<AdminJob>> {
  const { search, account, model, state, delivered } = request
  return await readPage(request, {
    example: [0, ''],
    async read (after, limit) {
      const [at, id] = after ?? [Number.MAX_SAFE_INTEGER, '']
      const params: Value[] = [limit, at]
      const where = whereClause([
        ['(created_at, id) < ($2, ?)', id],
        ['account = ?', account],
        ['model = ?', model],
        ['state = ?', state === 'live' ? undefined : state]
      ], params)
      // Literals, as in the indexes.
      const isLive = state === 'live' ? 'and finished_at is null' : ''
      const isDelivered = delivered === undefined ? '' : `and delivered = ${delivered === 'yes' ? 1 : 0}`
      const isFound = search === undefined ? '' : `and ${beginsWith(store.engine, 'id', search, params)}`
      return await withWebhooks(store, await store.reports.all<ShownRow>(
        `select ${shown} from job where ${where} ${isLive} ${isDelivered} ${isFound} order by created_at desc, id desc limit $1`, params))
    },
    toItem: toAdminJob,
    cursorOf: row => [row.createdAt, row.id]
  })
}

/** Returns one job. Throws GatewayError 404. */
export async function getJob ({ store, actor }: Administration, id: string): Promise<AdminJob> {
  const row = await store.get<ShownRow>(`select ${shown} from job where id = $1`, [id])
  if (row === undefined) throw unknownJob(id)
  requireOwn(actor, row.account, () => unknownJob(id))
  const [job = { ...row, webhooks: [] }] = await withWebhooks(store, [row])
  return toAdminJob(job)
}

/** Returns one job with the times of its steps. Throws GatewayError 404. */
export async function getJobWithTimeline (
  administration: Administration, id: string
): Promise<AdminJobWithTimeline> {
  const job = await getJob(administration, id)
  await administration.flush()
  return { ...job, timeline: await timelineOf(administration.store, job) }
}

function unknownJob (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `The job \`${id}\` does not exist.`, { code: 'job_not_found' })
}

/**
 * Requests the cancellation of a job, which takes a few seconds; the client is not charged. Throws
 * GatewayError 404 for an unknown job, 409 for a finished one.
 */
export async function cancelJob (administration: Administration, id: string): Promise<AdminJob> {
  const { store, actor } = administration
  const changed = await store.transaction(async queries => {
    const changed = await queries.run(
      'update job set cancel = 1, dedupe = null where id = $1 and cancel <> 1 and finished_at is null', [id])
    const change = { actor, action: 'job.cancel', target: `job:${id}`, after: { cancelling: true }, at: store.clock() }
    if (changed === 1) await recordChange(queries, change)
    return changed
  })
  const job = await getJob(administration, id)
  if (changed === 1 || job.cancelling) return job
  throw new GatewayError(409, 'invalid_request_error', `The job \`${id}\` cannot be cancelled because it has finished; its state is ${job.state}.`,
    { code: 'job_has_ended' })
}

async function withWebhooks (store: Store, rows: readonly ShownRow[]): Promise<ShownJob[]> {
  const webhooks = await webhooksOf(store, rows.map(({ id }) => id))
  return rows.map(row => ({ ...row, webhooks: webhooks.filter(({ job }) => job === row.id) }))
}

/** Only the origin, because many receivers have a secret in the path or query. */
function withoutSecrets (url: string): string {
  const { origin, pathname } = new URL(url)
  return pathname.length > 1 ? `${origin}/…` : origin
}

function toAdminWebhook (webhook: JobWebhook): AdminJob['webhooks'][number] {
  const { id, url, type, attempts, nextAttemptAt, deliveredAt, lastError } = webhook
  const isOver = nextAttemptAt === null ? 'given_up' as const : 'due' as const
  return {
    id,
    url: withoutSecrets(url),
    type,
    state: type === null ? 'waiting' : deliveredAt === null ? isOver : 'delivered',
    attempts,
    next_attempt_at: isoTimeOrNull(nextAttemptAt),
    delivered_at: isoTimeOrNull(deliveredAt),
    error: lastError
  }
}

function toAdminJob ({ waiters, webhooks, ...row }: ShownJob): AdminJob {
  const job = toJob(row)
  const { provider = null, model: upstreamModel = null } = job.candidates[job.candidate] ?? {}
  return {
    object: 'job',
    id: job.id,
    state: job.state,
    progress: job.progress,
    account: job.account,
    key: job.apiKey,
    model: job.model,
    provider,
    upstream_model: upstreamModel,
    handle: job.handle,
    node: job.owner,
    waiters,
    delivered: job.delivered,
    background: job.background !== 0,
    cancelling: job.cancel && job.finishedAt === null,
    seconds: job.seconds,
    ...amountFields('held', job.finishedAt === null ? job.hold?.amountNano ?? 0 : 0),
    cost_usd: job.costNano === null ? null : exactUsd(job.costNano),
    cost_nano: job.costNano,
    error: job.failure === null ? null : { code: job.failure.code, message: job.failure.message },
    copy_error: job.copyError === null ? null : { ...job.copyError, since: isoTime(job.copyError.since) },
    videos: job.videos.map(({ media, mime, seconds, width, height, expiresAt }) => ({
      media, mime_type: mime, seconds, width, height, expires_at: isoTimeOrNull(expiresAt)
    })),
    created_at: isoTime(job.createdAt),
    submitted_at: isoTimeOrNull(job.submittedAt),
    polled_at: isoTimeOrNull(job.polledAt),
    finished_at: isoTimeOrNull(job.finishedAt),
    expires_at: isoTimeOrNull(job.expiresAt),
    deleted_at: isoTimeOrNull(job.deletedAt),
    webhooks: webhooks.map(toAdminWebhook)
  }
}
