import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { SubmitRequest, VideoClient } from './client.ts'
import {
  badReply, jobError, asMaybeSent, textOrNull, type ProviderErrorDetail
} from './errors.ts'
import { ownMember } from '../../shared/json.ts'
import {
  videoLength, type Polling, type VideoChoices, type VideoFile,
  type VideoProvider, type VideoState, type VideoTask
} from '../provider-video.ts'
import { urlPart } from '../url-part.ts'

/** How one provider expresses the operations that all of them share. */
export interface VideoDialect {
  polling?: Partial<Polling>
  frameFormat?: VideoProvider['frameFormat']
  choices (model: string): VideoChoices
  /** Throws UpstreamError `bad_request` for a wish that cannot be stated. */
  submit (task: VideoTask): SubmitRequest
  /** Default: the answer's `id`. */
  jobId?: (response: JsonObject) => unknown
  /** The handle to store with the job; default: the id, encoded for a path. */
  handle?: (id: string, task: VideoTask) => string
  pollPath (handle: string): string
  /** The body of a poll that is a POST; absent: it is a GET. */
  pollBody?: (handle: string) => JsonObject
  /** Meaning of the provider's states; default: `usualStates`. Unknown ones count as `running`. */
  states?: Readonly<Record<string, VideoState['state']>>
  read (response: JsonObject, handle: string, signal: AbortSignal): JobStatus | Promise<JobStatus>
  cancel?: (handle: string) => { method: 'POST' | 'PUT' | 'DELETE', path: string }
}

/** The fields of a poll's response, unvalidated. */
export interface JobStatus {
  status: unknown
  /** 0 to 100. */
  progress?: unknown
  urls?: unknown
  /** Instead of `urls`, for videos that need the API key, or that are part of the response. */
  files?: VideoFile[]
  seconds?: unknown
  costNano?: number | null
  error?: ProviderErrorDetail
}

const usualStates: NonNullable<VideoDialect['states']> = {
  queued: 'queued',
  pending: 'queued',
  completed: 'succeeded',
  succeeded: 'succeeded',
  failed: 'failed',
  expired: 'failed',
  cancelled: 'cancelled',
  canceled: 'cancelled'
}

const defaultPolling: Polling = { minMs: 3_000, maxMs: 15_000, deadlineMs: 30 * 60_000 }

/** A video provider that submits, polls and cancels in a dialect. Its methods throw UpstreamError. */
export function createVideoProvider (client: VideoClient, dialect: VideoDialect): VideoProvider {
  const { cancel, frameFormat, states = usualStates } = dialect
  return {
    polling: { ...defaultPolling, ...dialect.polling },
    submitsOnce: false,
    ...(frameFormat && { frameFormat }),
    choices: dialect.choices,
    check: task => { dialect.submit(task) },
    async submit (task, signal) {
      return { handle: readJobHandle(await client.submit(dialect.submit(task), signal), task, dialect) }
    },
    async poll (handle, signal) {
      const path = dialect.pollPath(handle)
      const response = await (dialect.pollBody === undefined
        ? client.get(path, signal)
        : client.query(path, dialect.pollBody(handle), signal))
      if (response === null) return { state: 'running', progress: null }
      return toState(await dialect.read(response, handle, signal), states, client)
    },
    ...(cancel && {
      async cancel (handle: string, signal: AbortSignal) {
        const { method, path } = cancel(handle)
        await client.cancel(method, path, signal)
      }
    })
  }
}

/** The handle in the response to a submit. Throws UpstreamError with `sent: 'maybe'` if there is none. */
export function readJobHandle (
  response: JsonObject, task: VideoTask, { jobId, handle }: VideoDialect
): string {
  const id = textOrNull(jobId === undefined ? response.id : jobId(response))
  const isPath = id !== null && id.split('/').every(part => part !== '' && part !== '.' && part !== '..')
  if (!isPath || id.length > 512 || !id.isWellFormed()) throw asMaybeSent(badReply('has no job id'))
  return handle?.(id, task) ?? urlPart(id)
}

function toState (
  reading: JobStatus, states: typeof usualStates, { codes, redact }: Pick<VideoClient, 'codes' | 'redact'>
): VideoState {
  const status = textOrNull(reading.status)
  if (status === null) throw badReply('has no job state')
  const state = ownMember(states, status) ?? 'running'
  if (state === 'queued' || state === 'running') return { state, progress: progressOf(reading.progress) }
  const { code, message, kind } = reading.error ?? { code: null, message: null }
  const failure = (otherwise: string) =>
    jobError({ code, message: redact(message ?? otherwise), kind }, codes)
  if (/^expired$/i.test(status)) {
    const why = redact(message ?? 'The job expired.')
    return { state: 'failed', error: new UpstreamError('timeout', 'yes', why, { code }) }
  }
  if (state === 'failed') return { state, error: failure('The provider failed to generate the video.') }
  if (state === 'cancelled') return { state, error: failure('The provider cancelled the job.') }
  const videos = reading.files ?? [reading.urls].flat().filter(isHttpUrl).map(url => ({ url }))
  if (videos.length === 0) {
    return { state: 'failed', error: failure('The provider completed the job without a video.') }
  }
  const seconds = videoLength(numberOf(reading.seconds))
  return { state, videos, seconds, costNano: reading.costNano ?? null }
}

function isHttpUrl (value: unknown): value is string {
  return typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value)
}

function progressOf (value: unknown): number | null {
  const progress = numberOf(value)
  return progress === null ? null : Math.min(100, Math.round(progress))
}

function numberOf (value: unknown): number | null {
  const number = Number(textOrNull(value) ?? NaN)
  return number >= 0 ? number : null
}
