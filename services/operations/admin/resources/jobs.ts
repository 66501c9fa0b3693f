import { AdminJob, AdminJobList, AdminJobWithTimeline, JobQuery } from '../../../../schemas/admin/jobs.ts'
import { amounts, fields, type Column } from '../format/columns.ts'
import { toTable } from '../format/table.ts'
import { amountText } from '../amounts.ts'
import { cancelJob, getJobWithTimeline, listJobs } from '../jobs.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest } from '../query.ts'

/** The jobs of video models. */
export const jobOperations = [
  operation('GET /jobs', 'read', {
    ownAccount: 'query',
    summary: 'List the jobs of video models, newest first',
    query: JobQuery,
    result: AdminJobList,
    run: (administration, { query }) => listJobs(administration, { ...query, ...toPageRequest(query) }),
    command: {
      name: 'jobs list',
      description: 'list jobs, newest first',
      options: {
        search: option('--search <text>', 'only jobs whose id begins with this'),
        account: option('--account <account>', 'only jobs of this account'),
        model: option('--model <model>', 'only jobs of this model'),
        state: option('--state <state>', 'only jobs in this state; `live` for all unfinished ones'),
        delivered: option('--delivered <yes|no>', 'only jobs whose result a client has received, or has not')
      },
      columns: () => [
        ...fields('created_at', 'id'),
        { name: 'state', cell: ({ state, cancelling }) => cancelling ? `${state}, cancelling` : state },
        { name: 'progress', numeric: true, cell: ({ progress }) => progress === null ? '' : `${progress} %` },
        ...fields('model', 'provider', 'account'),
        ...amounts(['cost']),
        { name: 'delivered', cell: ({ delivered, finished_at: at }) => at === null ? '' : delivered ? 'yes' : 'no' },
        { name: 'webhook', cell: ({ webhooks }) => [...new Set(webhooks.map(({ state }) => state))].join(', ') },
        { name: 'error', cell: ({ error, copy_error: copy }) => error?.code ?? error?.message ?? (copy === null ? '' : `copy: ${copy.fault}`) }
      ]
    }
  }),
  operation('GET /jobs/:id', 'read', {
    ownAccount: 'handler',
    summary: 'Show a job and the times of its steps',
    result: AdminJobWithTimeline,
    run: (administration, { id }) => getJobWithTimeline(administration, id),
    command: {
      name: 'jobs show <id>',
      description: 'show all details of a job and the times of its steps',
      text: ({ timeline, ...job }) => `${toTable(fields('field', 'value'), detailsOf(job))}\n${toTable(stepColumns, timeline)}`
    }
  }),
  operation('POST /jobs/:id/cancel', 'operate', {
    summary: 'Cancel a job; its client pays nothing',
    result: AdminJob,
    run: (administration, { id }) => cancelJob(administration, id),
    command: {
      name: 'jobs cancel <id>',
      description: 'cancel a job; its client is not charged',
      text: job => `Cancelling the job ${job.id}; this takes a few seconds.\n`
    }
  })
]

const stepColumns: Column<AdminJobWithTimeline['timeline'][number]>[] = [
  ...fields('at', 'step'), { name: 'what', cell: ({ ref }) => ref ?? '' }
]

function detailsOf (
  { object: _, error, videos, webhooks, copy_error: copy, held_usd: _held, cost_usd: _cost, ...job }: AdminJob
): { field: string, value: string }[] {
  const { held_nano: held, cost_nano: cost, ...plain } = job
  const details = {
    ...plain,
    held: amountText(held),
    cost: cost === null ? null : amountText(cost),
    error: error === null ? null : `${error.code ?? ''} ${error.message}`,
    copy_error: copy === null ? null : `${copy.fault}, ${copy.attempts} attempts since ${copy.since}: ${copy.message}`,
    videos: videos.map(video => `${video.media ?? 'at the provider'}, ${video.seconds ?? '?'} s`).join('; '),
    webhooks: webhooks.map(webhookText).join('; ')
  }
  return Object.entries(details).flatMap(([name, value]) =>
    value === null || value === '' ? [] : [{ field: name.replaceAll('_', ' '), value: String(value) }])
}

function webhookText ({ url, type, state, attempts, next_attempt_at: next, delivered_at: delivered, error }: AdminJob['webhooks'][number]): string {
  const parts = [
    `${type ?? 'the end of the job'} to ${url}: ${state.replace('_', ' ')}`,
    attempts > 0 && `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
    delivered !== null && `at ${delivered}`,
    next !== null && `next at ${next}`,
    error
  ]
  return parts.filter(part => typeof part === 'string').join(', ')
}
