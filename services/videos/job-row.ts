import type { Value } from '../store/store.ts'
import { finalStates, liveStates } from './job.ts'
import type { JobCandidate, Job, JobFailure, JobState, JobVideo } from './job.ts'
import type { JobTask } from '../providers/provider-video.ts'

/** A row of the table `job`. */
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
/** All columns, as a statement names them. */
export const columns = Object.keys(names).join(', ')

/** The row of a job. */
export function toRow (job: Job): Record<keyof JobRow, Value> {
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

/** The job of a row. Throws an Error for a state that this version does not know. */
export function toJob (row: JobRow): Job {
  const chain = row.chain.split(' ')
  const candidates: JobCandidate[] = JSON.parse(row.candidates)
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

/** The columns that a change sets. */
export function toChange (change: JobChange): Partial<Record<keyof JobRow, Value>> {
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
