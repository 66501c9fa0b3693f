import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { SubmitRequest, VideoApi } from './api.ts'
import { badReply, failedJob, mayHaveBegun, textOf } from './failures.ts'
import type { Complaint, FailureCodes } from './failures.ts'
import type { Polling, VideoFile, VideoProvider, VideoState, VideoTask } from '../provider-video.ts'

/** How one provider words what all of them do. */
export interface VideoDialect {
  polling?: Partial<Polling>
  pictures?: VideoProvider['pictures']
  submit (task: VideoTask): SubmitRequest
  /** The job's id in the answer to a submit. */
  idIn (answer: JsonObject): unknown
  /** What is kept of the job; default: the id, in a form that can be part of a path. */
  handle?: (id: string, task: VideoTask) => string
  /** Where the job is asked for. */
  path (handle: string): string
  /** What the provider's states mean; those it may add are taken for `running`, the deadline ends them. */
  states: Readonly<Record<string, VideoState['state']>>
  read (answer: JsonObject, handle: string, signal: AbortSignal): Reading | Promise<Reading>
  cancel?: (handle: string) => { method: 'POST' | 'PUT' | 'DELETE', path: string }
  codes: FailureCodes
}

/** What a poll was answered, as the provider put it. */
export interface Reading {
  status: unknown
  /** 0 to 100. */
  progress?: unknown
  /** Addresses, one or several. */
  urls?: unknown
  /** Instead of addresses, where the key is needed. */
  files?: VideoFile[]
  /** A number, or a number as text. */
  seconds?: unknown
  costNano?: number | null
  complaint?: Complaint
}

const usualPolling: Polling = { minMs: 3_000, maxMs: 15_000, deadlineMs: 30 * 60_000 }

/** A maker that submits and polls as the wire says. */
export function createVideoProvider (api: VideoApi, wire: VideoDialect): VideoProvider {
  const { cancel, pictures } = wire
  return {
    polling: { ...usualPolling, ...wire.polling },
    submitsOnce: false,
    ...(pictures && { pictures }),
    async submit (task, signal) {
      return { handle: handleIn(await api.submit(wire.submit(task), signal), task, wire) }
    },
    async poll (handle, signal) {
      const answer = await api.get(wire.path(handle), signal)
      if (answer === null) return { state: 'running', progress: null }
      return toState(await wire.read(answer, handle, signal), wire)
    },
    ...(cancel && {
      async cancel (handle: string, signal: AbortSignal) {
        const { method, path } = cancel(handle)
        await api.cancel(method, path, signal)
      }
    })
  }
}

/** The handle of an answer to a submit. Throws UpstreamError: a job without a handle may be under way. */
export function handleIn (answer: JsonObject, task: VideoTask, { idIn, handle }: VideoDialect): string {
  const id = textOf(idIn(answer))
  const isPath = id !== null && id.split('/').every(part => part !== '' && part !== '.' && part !== '..')
  if (!isPath || id.length > 512) throw mayHaveBegun(badReply('names no job'))
  return handle?.(id, task) ?? encodeURIComponent(id)
}

function toState (reading: Reading, { states, codes }: VideoDialect): VideoState {
  const status = textOf(reading.status)
  if (status === null) throw badReply('tells no state')
  const state = states[status] ?? 'running'
  if (state === 'queued' || state === 'running') return { state, progress: progressOf(reading.progress) }
  const { code, message } = reading.complaint ?? { code: null, message: null }
  const failure = (otherwise: string) => failedJob({ code, message: message ?? otherwise }, codes)
  if (/^expired$/i.test(status)) {
    return { state: 'failed', error: new UpstreamError('timeout', 'yes', message ?? 'The job expired.', { code }) }
  }
  if (state === 'failed') return { state, error: failure('The provider could not make the video.') }
  if (state === 'cancelled') return { state, error: failure('The provider cancelled the job.') }
  const videos = reading.files ?? [reading.urls].flat().filter(isAddress).map(url => ({ url }))
  if (videos.length === 0) return { state: 'failed', error: failure('The provider finished without a video.') }
  return { state, videos, seconds: numberOf(reading.seconds), costNano: reading.costNano ?? null }
}

function isAddress (value: unknown): value is string {
  return typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value)
}

function progressOf (value: unknown): number | null {
  const progress = numberOf(value)
  return progress === null ? null : Math.min(100, Math.round(progress))
}

/** A number that is zero or more, also one in text such as `8` or `5.1`; null for all else. */
function numberOf (value: unknown): number | null {
  const number = Number(textOf(value) ?? NaN)
  return number >= 0 ? number : null
}

/** US dollars as a provider tells them, as nano-USD, rounded to the nearest; null for all else. */
export function nanoOf (usd: unknown): number | null {
  const nano = typeof usd === 'number' ? Math.round(usd * 1e9) : NaN
  return Number.isSafeInteger(nano) && nano >= 0 ? nano : null
}
