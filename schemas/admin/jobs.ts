import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, ListOf, Nano, Paging, SearchFor, Usd } from './shared.ts'
import { Nullable, NullableDecimal, StringEnum } from '../shared/combinators.ts'

export const jobStates = [
  'submitting', 'queued', 'running', 'storing', 'succeeded', 'failed', 'cancelled', 'expired'
] as const
export const JobStateName = StringEnum(jobStates)

const JobVideo = Type.Object({
  /** Id of the stored video; null when only the provider has it. */
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
  error: Nullable(Type.String({ description: 'Of the last attempt.' }))
})

/** Work that a provider does for minutes. What was asked for is not shown: it belongs to the client. */
export const AdminJob = Type.Object({
  object: Type.Literal('job'),
  id: Type.String({ examples: ['job_0mwwxelgo7a67d65bd5a300c800000000'] }),
  state: StringEnum(jobStates, { examples: ['succeeded'] }),
  /** 0 to 100, as the provider says; null when it does not. */
  progress: Nullable(Type.Number({ examples: [100] })),
  account: Type.String(),
  key: Type.String(),
  model: Type.String({ examples: ['sandbox-video'] }),
  provider: Nullable(Type.String()),
  upstream_model: Nullable(Type.String({ examples: ['sandbox-video'] })),
  /** What the provider knows it by. */
  handle: Nullable(Type.String({ examples: ['task_5f94db1e1abd'] })),
  /** The node that works on it. */
  node: Nullable(Type.String()),
  /** Clients that wait for it, on all nodes. */
  waiters: Type.Integer({ examples: [0] }),
  delivered: Type.Boolean(),
  /** Its client asks for it by its id and does not wait. */
  background: Type.Boolean(),
  cancelling: Type.Boolean(),
  seconds: Type.Number(),
  held_usd: Usd,
  held_nano: Nano,
  cost_usd: NullableDecimal({ examples: [0.008] }),
  cost_nano: Nullable(Type.Integer({ examples: [8_000_000] })),
  error: Nullable(Type.Object({ code: Nullable(Type.String()), message: Type.String() })),
  /** Why a video that was made is not copied yet, while the state is `storing`. */
  copy_error: Nullable(Type.Object({
    fault: StringEnum(['media_store', 'provider']),
    message: Type.String(),
    attempts: Type.Integer(),
    since: Type.String()
  })),
  videos: Type.Array(JobVideo),
  created_at: Type.String(),
  submitted_at: Nullable(Type.String()),
  /** When the provider last reported something new: another state or progress, or the end. */
  polled_at: Nullable(Type.String()),
  finished_at: Nullable(Type.String()),
  /** Until when it answers requests that ask for it again. */
  expires_at: Nullable(Type.String()),
  /** When its client deleted it. */
  deleted_at: Nullable(Type.String()),
  webhooks: Type.Array(JobWebhook, { examples: [[]] })
})
export type AdminJob = Static<typeof AdminJob>

export const jobSteps = ['created', 'submitted', 'polled', 'stored', 'finished', 'charged', 'expires'] as const

/** A job with the times of its steps, in their order; a step that has not happened is absent. */
export const AdminJobWithTimeline = Type.Object({
  ...AdminJob.properties,
  timeline: Type.Array(Type.Object({
    step: StringEnum(jobSteps),
    at: Type.String(),
    /** The file that was stored, or the entry that charged it. */
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
