import type { AdminJob, JobQuery } from '../../schemas/admin/jobs.ts'
import { exactUsd } from '../reports/exact-json.ts'
import { GatewayError } from '../shared/errors.ts'
import { isoTime, isoTimeOrNull } from '../shared/iso-time.ts'
import type { Value } from '../store/store.ts'
import type { Job } from '../videos/job.ts'
import { columns, toJob } from '../videos/job-row.ts'
import type { JobRow } from '../videos/job-row.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { pageSize, placeAfter, toPage } from './page.ts'
import type { Page, PageRequest } from './page.ts'

export interface JobRequest extends PageRequest {
  account?: string | undefined
  model?: string | undefined
  /** One state, or `live` for all that have not ended. */
  state?: JobQuery['state'] | undefined
  delivered?: JobQuery['delivered'] | undefined
}

/** Lists jobs, the newest first. Throws GatewayError 400 for a wrong page. */
export async function listJobs (
  { store }: Administration, request: JobRequest = {}
): Promise<Page<AdminJob>> {
  const size = pageSize(request)
  const [at, id] = placeAfter(request, [0, '']) ?? [Number.MAX_SAFE_INTEGER, '']
  const { account, model, state, delivered } = request
  const conditions: [string, Value | undefined][] = [
    ['account = ?', account],
    ['model = ?', model],
    ['state = ?', state === 'live' ? undefined : state],
    ['delivered = ?', delivered === undefined ? undefined : Number(delivered === 'yes')]
  ]
  const asked = conditions.filter((condition): condition is [string, Value] => condition[1] !== undefined)
  const where = [
    '(created_at < $2 or (created_at = $2 and id < $3))',
    ...asked.map(([sql], index) => sql.replace('?', `$${index + 4}`)),
    ...state === 'live' ? ['finished_at is null'] : []
  ].join(' and ')
  const rows = await store.all<JobRow>(
    `select ${columns} from job where ${where} order by created_at desc, id desc limit $1`,
    [size + 1, at, id, ...asked.map(([, value]) => value)])
  return toPage(rows, size, { toItem: row => toAdminJob(toJob(row)), place: row => [row.created_at, row.id] })
}

/** Returns one job. Throws GatewayError 404. */
export async function getJob ({ store }: Administration, id: string): Promise<AdminJob> {
  const row = await store.get<JobRow>(`select ${columns} from job where id = $1`, [id])
  if (row !== undefined) return toAdminJob(toJob(row))
  throw new GatewayError(404, 'invalid_request_error', `The job \`${id}\` does not exist.`, { code: 'job_not_found' })
}

/**
 * Asks the node that works on a job to end it, which takes some seconds; the client pays nothing. Throws
 * GatewayError 404 for an unknown job, 409 for one that has ended.
 */
export async function cancelJob (administration: Administration, id: string): Promise<AdminJob> {
  const asked = await administration.store.run('update job set cancel = 1 where id = $1 and finished_at is null', [id])
  const job = await getJob(administration, id)
  if (asked === 1) return job
  throw new GatewayError(409, 'invalid_request_error', `The job \`${id}\` has ended: it is ${job.state}.`,
    { code: 'job_has_ended' })
}

function toAdminJob (job: Job): AdminJob {
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
    waiter: job.waiter,
    delivered: job.delivered,
    cancelling: job.cancel && job.finishedAt === null,
    seconds: job.seconds,
    ...amountFields('held', job.finishedAt === null ? job.hold?.amountNano ?? 0 : 0),
    cost_usd: job.costNano === null ? null : exactUsd(job.costNano),
    cost_nano: job.costNano,
    error: job.failure === null ? null : { code: job.failure.code, message: job.failure.message },
    videos: job.videos.map(({ media, mime, seconds, width, height, expiresAt }) => ({
      media, mime_type: mime, seconds, width, height, expires_at: isoTimeOrNull(expiresAt)
    })),
    created_at: isoTime(job.createdAt),
    submitted_at: isoTimeOrNull(job.submittedAt),
    finished_at: isoTimeOrNull(job.finishedAt),
    expires_at: isoTimeOrNull(job.expiresAt)
  }
}
