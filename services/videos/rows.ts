import { createTable } from '../ledger/table.ts'
import type { Queries, Store, Value } from '../store/store.ts'
import { liveStates, finalStates } from './job.ts'
import type { Candidate, Job, JobFailure, JobState, JobTask, JobVideo, LiveJob } from './job.ts'

/** The statements on the table `job`. */
export type JobRows = ReturnType<typeof createJobRows>

/** What a change of a job may set. */
export interface JobChange {
  state?: JobState
  candidate?: number
  handle?: string | null
  progress?: number | null
  attempts?: number
  task?: JobTask
  costNano?: number | null
  videos?: readonly JobVideo[]
  failure?: JobFailure | null
  submittedAt?: number | null
  finishedAt?: number | null
  expiresAt?: number | null
}

const maxAdopted = 500

/** Writes the statements on jobs for one node. Methods throw StoreUnavailable. */
export function createJobRows (store: Store, node: string) {
  const ids = createTable<{ id: string }>(store.engine, { id: 'text' })
  const idsOf = (list: readonly string[]) => ids.parameter(list.map(id => ({ id })))
  const skipLocked = store.engine === 'postgres' ? 'for update skip locked' : ''

  return {
    /** False when the account has a job of that `dedupe` already. */
    async insert (queries: Queries, job: Job): Promise<boolean> {
      const row = toRow(job)
      const names = Object.keys(row)
      return await queries.run(`
        insert into job (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})
        on conflict do nothing`, Object.values(row)) === 1
    },

    async get (id: string, queries: Queries = store): Promise<Job | undefined> {
      const row = await queries.get<JobRow>(`select ${columns} from job where id = $1`, [id])
      return row && toJob(row)
    },

    /** The job that an account calls so. */
    async named (account: string, dedupe: string): Promise<Job | undefined> {
      const row = await store.get<JobRow>(
        `select ${columns} from job where account = $1 and dedupe = $2`, [account, dedupe])
      return row && toJob(row)
    },

    /**
     * Jobs without a name, with the same content and begun since a time; the oldest first. Of those that a
     * client has had only the ones that have succeeded lately.
     */
    async alike (
      account: string, bodyHash: string, sinceMs: number, deliveredSinceMs: number
    ): Promise<Job[]> {
      const rows = await store.all<JobRow>(`
        select ${columns} from job
        where account = $1 and body_hash = $2 and created_at >= $3 and dedupe is null
        and (delivered = 0 or (state = 'succeeded' and finished_at >= $4))
        order by created_at, id limit 100`, [account, bodyHash, sinceMs, deliveredSinceMs])
      return rows.map(toJob)
    },

    /** Frees the name of a job whose time is over. */
    async forgetName (id: string, nowMs: number): Promise<void> {
      await store.run('update job set dedupe = null where id = $1 and expires_at <= $2', [id, nowMs])
    },

    /** Makes `waiter` the client that waits; false when another one came since `before` was read. */
    async claim (id: string, waiter: string, before: string | null): Promise<boolean> {
      return await store.run(`
        update job set waiter = $2, waiter_left_at = null
        where id = $1 and delivered = 0 and (waiter is null or waiter = $3)`, [id, waiter, before]) === 1
    },

    /** Notes that a client waits no more. */
    async leave (id: string, waiter: string, nowMs: number): Promise<void> {
      await store.run(
        'update job set waiter = null, waiter_left_at = $3 where id = $1 and waiter = $2', [id, waiter, nowMs])
    },

    /** Notes that a client has had the whole answer. */
    async deliver (id: string): Promise<void> {
      await store.run('update job set delivered = 1, waiter = null where id = $1', [id])
    },

    /** Changes a job that this node owns; false when it does not, or not any more. */
    async change ({ id, fence }: Pick<LiveJob, 'id' | 'fence'>, change: JobChange, queries: Queries = store): Promise<boolean> {
      const set = toChange(change)
      const names = Object.keys(set).map((name, index) => `${name} = $${index + 4}`)
      return await queries.run(`
        update job set ${names.join(', ')} where id = $1 and owner = $2 and fence = $3 and finished_at is null`,
      [id, node, fence, ...Object.values(set)]) === 1
    },

    /** Nodes that own jobs, and this one. */
    async owners (): Promise<{ id: string, epoch: number, beat: number }[]> {
      return await store.all(`
        select id, epoch, beat from node where id = $1
        or exists (select 1 from job where job.owner = node.id and finished_at is null)`, [node])
    },

    /** Takes over jobs that nobody owns, or one of these nodes; some hundreds at most. */
    async adopt (dead: readonly string[]): Promise<Job[]> {
      const rows = await store.all<JobRow>(`
        update job set owner = $2, fence = fence + 1 where id in (
          select id from job where finished_at is null
          and (owner is null or owner in (select id from ${ids.sql} as given))
          order by created_at limit ${maxAdopted} ${skipLocked})
        returning ${columns}`, [idsOf(dead), node])
      return rows.map(toJob)
    },

    /** Lets go of everything that this node owns. */
    async abandon (): Promise<void> {
      await store.run('update job set owner = null where owner = $1 and finished_at is null', [node])
    },

    /** Those of the given jobs that have ended. */
    async finished (list: readonly string[]): Promise<Job[]> {
      const rows = await store.all<JobRow>(`
        select ${columns} from job where finished_at is not null and id in (select id from ${ids.sql} as given)`,
      [idsOf(list)])
      return rows.map(toJob)
    },

    /** Jobs of this node that are to be cancelled. */
    async cancelled (): Promise<string[]> {
      const rows = await store.all<{ id: string }>(
        'select id from job where owner = $1 and finished_at is null and cancel = 1', [node])
      return rows.map(({ id }) => id)
    },

    /** Removes jobs that ended before a time; the books keep what they cost. */
    async prune (beforeMs: number): Promise<void> {
      await store.run('delete from job where finished_at < $1', [beforeMs])
    }
  }
}

export interface JobRow {
  id: string
  account: string
  api_key: string
  chain: string
  model: string
  candidates: string
  candidate: number
  dedupe: string | null
  body_hash: string
  request: string
  base_url: string
  state: string
  owner: string | null
  fence: number
  handle: string | null
  progress: number | null
  attempts: number
  deadline_at: number
  hold: string | null
  amount: number
  second_price: number
  seconds: number
  cost: number | null
  waiter: string | null
  waiter_left_at: number | null
  delivered: number
  cancel: number
  result: string | null
  error: string | null
  created_at: number
  submitted_at: number | null
  finished_at: number | null
  expires_at: number | null
}

const names: Record<keyof JobRow, true> = {
  id: true,
  account: true,
  api_key: true,
  chain: true,
  model: true,
  candidates: true,
  candidate: true,
  dedupe: true,
  body_hash: true,
  request: true,
  base_url: true,
  state: true,
  owner: true,
  fence: true,
  handle: true,
  progress: true,
  attempts: true,
  deadline_at: true,
  hold: true,
  amount: true,
  second_price: true,
  seconds: true,
  cost: true,
  waiter: true,
  waiter_left_at: true,
  delivered: true,
  cancel: true,
  result: true,
  error: true,
  created_at: true,
  submitted_at: true,
  finished_at: true,
  expires_at: true
}
export const columns = Object.keys(names).join(', ')

function toRow (job: Job): Record<keyof JobRow, Value> {
  return {
    id: job.id,
    account: job.account,
    api_key: job.apiKey,
    chain: job.chain.join(' '),
    model: job.model,
    candidates: JSON.stringify(job.candidates),
    candidate: job.candidate,
    dedupe: job.dedupe,
    body_hash: job.bodyHash,
    request: storedText(job.task),
    base_url: job.baseUrl,
    state: job.state,
    owner: job.owner,
    fence: job.fence,
    handle: job.handle,
    progress: job.progress,
    attempts: job.attempts,
    deadline_at: job.deadlineAt,
    hold: job.hold?.id ?? null,
    amount: job.hold?.amountNano ?? 0,
    second_price: job.secondNano,
    seconds: job.seconds,
    cost: job.costNano,
    waiter: job.waiter,
    waiter_left_at: job.waiterLeftAt,
    delivered: job.delivered ? 1 : 0,
    cancel: job.cancel ? 1 : 0,
    result: JSON.stringify(job.videos),
    error: job.failure === null ? null : storedText(job.failure),
    created_at: job.createdAt,
    submitted_at: job.submittedAt,
    finished_at: job.finishedAt,
    expires_at: job.expiresAt
  }
}

export function toJob (row: JobRow): Job {
  const chain = row.chain.split(' ')
  const candidates: Candidate[] = JSON.parse(row.candidates)
  const task: JobTask = JSON.parse(row.request)
  const videos: JobVideo[] = row.result === null ? [] : JSON.parse(row.result)
  const failure: JobFailure | null = row.error === null ? null : JSON.parse(row.error)
  return {
    id: row.id,
    account: row.account,
    apiKey: row.api_key,
    chain,
    model: row.model,
    candidates,
    candidate: row.candidate,
    dedupe: row.dedupe,
    bodyHash: row.body_hash,
    task,
    baseUrl: row.base_url,
    state: stateOf(row.state),
    owner: row.owner,
    fence: row.fence,
    handle: row.handle,
    progress: row.progress,
    attempts: row.attempts,
    deadlineAt: row.deadline_at,
    hold: row.hold === null ? null : { id: row.hold, chain, key: row.api_key, amountNano: row.amount },
    secondNano: row.second_price,
    seconds: row.seconds,
    costNano: row.cost,
    waiter: row.waiter,
    waiterLeftAt: row.waiter_left_at,
    delivered: row.delivered === 1,
    cancel: row.cancel === 1,
    videos,
    failure,
    createdAt: row.created_at,
    submittedAt: row.submitted_at,
    finishedAt: row.finished_at,
    expiresAt: row.expires_at
  }
}

function stateOf (text: string): JobState {
  const state = [...liveStates, ...finalStates].find(name => name === text)
  if (state === undefined) throw new Error(`A job has the unknown state ${text}.`)
  return state
}

function toChange (change: JobChange): Partial<Record<keyof JobRow, Value>> {
  const { task, videos, failure, costNano, submittedAt, finishedAt, expiresAt, ...plain } = change
  const times = { submitted_at: submittedAt, finished_at: finishedAt, expires_at: expiresAt }
  const named = { ...plain, ...times, cost: costNano }
  const given = Object.entries(named).filter((entry): entry is [string, Value] => entry[1] !== undefined)
  const set: Partial<Record<string, Value>> = Object.fromEntries(given)
  if (task !== undefined) set.request = storedText(task)
  if (videos !== undefined) set.result = JSON.stringify(videos)
  if (failure !== undefined) set.error = failure === null ? null : storedText(failure)
  return set
}

/** JSON that every engine takes as text: without the character NUL, which Postgres refuses. */
function storedText (value: object): string {
  return JSON.stringify(value, (_key, part: unknown) => typeof part === 'string' ? part.replaceAll('\0', '') : part)
}
