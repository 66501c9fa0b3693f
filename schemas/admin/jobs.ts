import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, ListOf, Nano, Paging, SearchFor, Usd } from './shared.ts'
import { Nullable, NullableDecimal, StringEnum } from '../shared/combinators.ts'

export const jobStates = [
  'submitting', 'queued', 'running', 'storing', 'succeeded', 'failed', 'cancelled', 'expired'
] as const

const JobVideo = Type.Object({
  /** The id of the stored video; null if only the provider has it. */
  media: Nullable(Type.String({ examples: ['786a8f065ec1f7d30d58a9c178170d2a'] })),
  mime_type: Type.String({ examples: ['video/mp4'] }),
  seconds: Nullable(Type.Number()),
  width: Nullable(Type.Number()),
  height: Nullable(Type.Number()),
  expires_at: Nullable(Type.String())
})

/** A webhook of a job: its receiver, and the state of the delivery. */
const JobWebhook = Type.Object({
  id: Type.String({ description: 'The `webhook-id` of all attempts.' }),
  url: Type.String({ description: 'Without its path and query, which may hold a secret.' }),
  type: Nullable(StringEnum(['video.completed', 'video.failed'])),
  /** `waiting`: the job has not ended. */
  state: StringEnum(['waiting', 'due', 'delivered', 'given_up']),
  attempts: Type.Integer(),
  next_attempt_at: Nullable(Type.String()),
  delivered_at: Nullable(Type.String()),
  error: Nullable(Type.String({ description: 'The error of the last attempt.' }))
})

/** A video job. Its request is not shown: it belongs to the client. */
export const AdminJob = Type.Object({
  object: Type.Literal('job'),
  id: Type.String({ examples: ['job_0mwwxelgo7a67d65bd5a300c800000000'] }),
  state: StringEnum(jobStates, { examples: ['succeeded'] }),
  /** From 0 to 100, as the provider reports it, else null. */
  progress: Nullable(Type.Number({ examples: [100] })),
  account: Type.String(),
  key: Type.String(),
  model: Type.String({ examples: ['sandbox-video'] }),
  provider: Nullable(Type.String()),
  upstream_model: Nullable(Type.String({ examples: ['sandbox-video'] })),
  /** The provider's id of the job. */
  handle: Nullable(Type.String({ examples: ['task_5f94db1e1abd'] })),
  /** The node that runs the job. */
  node: Nullable(Type.String()),
  /** Clients that wait for it, on all nodes. */
  waiters: Type.Integer({ examples: [0] }),
  delivered: Type.Boolean(),
  /** The client polls by id and does not keep a connection open. */
  background: Type.Boolean(),
  cancelling: Type.Boolean(),
  seconds: Type.Number(),
  held_usd: Usd,
  held_nano: Nano,
  cost_usd: NullableDecimal({ examples: [0.008] }),
  cost_nano: Nullable(Type.Integer({ examples: [8_000_000] })),
  error: Nullable(Type.Object({ code: Nullable(Type.String()), message: Type.String() })),
  /** Why a finished video has not been copied yet, while the state is `storing`. */
  copy_error: Nullable(Type.Object({
    fault: StringEnum(['media_store', 'provider']),
    message: Type.String(),
    attempts: Type.Integer(),
    since: Type.String()
  })),
  videos: Type.Array(JobVideo),
  created_at: Type.String(),
  submitted_at: Nullable(Type.String()),
  /** When the provider last reported a change: its state, its progress or the end. */
  polled_at: Nullable(Type.String()),
  finished_at: Nullable(Type.String()),
  /** Until then, repeated requests receive this job. */
  expires_at: Nullable(Type.String()),
  /** When the client deleted it. */
  deleted_at: Nullable(Type.String()),
  webhooks: Type.Array(JobWebhook, { examples: [[]] })
})
export type AdminJob = Static<typeof AdminJob>

export const jobSteps = ['created', 'submitted', 'polled', 'stored', 'finished', 'charged', 'expires'] as const

/** A job with the times of the steps it has taken, in order. */
export const AdminJobWithTimeline = Type.Object({
  ...AdminJob.properties,
  timeline: Type.Array(Type.Object({
    step: StringEnum(jobSteps),
    at: Type.String(),
    /** The stored file, or the ledger entry of the charge. */
    ref: Nullable(Type.String())
  }), {
    examples: [[
      { step: 'created', at: '2026-11-21T09:30:00.000Z', ref: null },
      { step: 'submitted', at: '2026-11-21T09:30:00.412Z', ref: null },
      { step: 'stored', at: '2026-11-21T09:30:39.000Z', ref: '786a8f065ec1f7d30d58a9c178170d2a' },
      { step: 'finished', at: '2026-11-21T09:30:40.000Z', ref: null },
      { step: 'charged', at: '2026-11-21T09:30:40.000Z', ref: 'entry_7' }
    ]]
  })
})
export type AdminJobWithTimeline = Static<typeof AdminJobWithTimeline>

export const AdminJobList = ListOf(AdminJob)

/** Query of `GET /admin/jobs`. */
export const JobQuery = Closed({
  ...Paging,
  search: Type.Optional(SearchFor('an id')),
  account: Type.Optional(Id),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  state: Type.Optional(StringEnum([...jobStates, 'live'])),
  delivered: Type.Optional(StringEnum(['yes', 'no']))
})
export type JobQuery = Static<typeof JobQuery>
