import { Option, type Command } from 'commander'
import { jobStates, type AdminJob, type AdminJobWithTimeline } from '../schemas/admin/jobs.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import { cancelJob, getJobWithTimeline, listJobs, type JobRequest } from '../services/operations/admin/jobs.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { toTable } from '../services/operations/admin/format/table.ts'
import { withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `jobs list`, `jobs show` and `jobs cancel`. */
export function addJobCommands (program: Command, session: Session): void {
  const jobs = program.command('jobs').description('manage video jobs')

  withPaging(withJson(jobs.command('list')))
    .description('list jobs, newest first')
    .option('--search <text>', 'only jobs whose id begins with this')
    .option('--account <account>', 'only jobs of this account')
    .option('--model <model>', 'only jobs of this model')
    .addOption(new Option('--state <state>', 'only jobs in this state; `live` for all unfinished ones').choices([...jobStates, 'live']))
    .addOption(new Option('--delivered <yes|no>', 'only jobs whose result a client has received, or has not').choices(['yes', 'no']))
    .action(async (options: JsonOption & JobRequest) =>
      await session.list(options, jobColumns, administration => listJobs(administration, options)))

  withJson(jobs.command('show <id>'))
    .description('show all details of a job and the times of its steps')
    .action(async (id: string, options: JsonOption) =>
      await session.show(options, administration => getJobWithTimeline(administration, id),
        ({ timeline, ...job }) => `${toTable(fieldColumns, fieldsOf(job))}\n${toTable(stepColumns, timeline)}`))

  withJson(jobs.command('cancel <id>'))
    .description('cancel a job; its client is not charged')
    .action(async (id: string, options: JsonOption) =>
      await session.show(options, administration => cancelJob(administration, id),
        job => `Cancelling the job ${job.id}; this takes a few seconds.\n`))
}

const jobColumns: Column<AdminJob>[] = [
  { name: 'created_at', cell: ({ created_at: at }) => at },
  { name: 'id', cell: ({ id }) => id },
  { name: 'state', cell: ({ state, cancelling }) => cancelling ? `${state}, cancelling` : state },
  { name: 'progress', numeric: true, cell: ({ progress }) => progress === null ? '' : `${progress} %` },
  { name: 'model', cell: ({ model }) => model },
  { name: 'provider', cell: ({ provider }) => provider ?? '' },
  { name: 'account', cell: ({ account }) => account },
  { name: 'cost', numeric: true, cell: ({ cost_nano: nano }) => nano === null ? '' : amountText(nano) },
  { name: 'delivered', cell: ({ delivered, finished_at: at }) => at === null ? '' : delivered ? 'yes' : 'no' },
  { name: 'webhook', cell: ({ webhooks }) => [...new Set(webhooks.map(({ state }) => state))].join(', ') },
  { name: 'error', cell: ({ error, copy_error: copy }) => error?.code ?? error?.message ?? (copy === null ? '' : `copy: ${copy.fault}`) }
]

const stepColumns: Column<AdminJobWithTimeline['timeline'][number]>[] = [
  { name: 'at', cell: ({ at }) => at },
  { name: 'step', cell: ({ step }) => step },
  { name: 'what', cell: ({ ref }) => ref ?? '' }
]

interface Field { name: string, value: string }

const fieldColumns: Column<Field>[] = [
  { name: 'field', cell: ({ name }) => name },
  { name: 'value', cell: ({ value }) => value }
]

function fieldsOf (
  { object: _, error, videos, webhooks, copy_error: copy, held_usd: _held, cost_usd: _cost, ...job }: AdminJob
): Field[] {
  const { held_nano: held, cost_nano: cost, ...plain } = job
  const amounts = { held: amountText(held), cost: cost === null ? null : amountText(cost) }
  const media = videos.map(video => `${video.media ?? 'at the provider'}, ${video.seconds ?? '?'} s`).join('; ')
  const texts = {
    error: error === null ? null : `${error.code ?? ''} ${error.message}`,
    copy_error: copy === null ? null : `${copy.fault}, ${copy.attempts} attempts since ${copy.since}: ${copy.message}`
  }
  const fields = { ...plain, ...amounts, ...texts, videos: media, webhooks: webhooks.map(webhookText).join('; ') }
  return Object.entries(fields).flatMap(([name, value]) =>
    value === null || value === '' ? [] : [{ name: name.replaceAll('_', ' '), value: String(value) }])
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
