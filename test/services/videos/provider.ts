import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UpstreamError } from '../../../services/shared/errors.ts'
import type {
  VideoFile, VideoProvider, VideoState, VideoTask
} from '../../../services/providers/provider-video.ts'
import type { UpstreamResponse } from '../../../services/providers/upstream/response.ts'

/** A real MP4 of two seconds, 96 by 54 pixels. */
export const twoSeconds = readFileSync(join(import.meta.dirname, '../../fixtures/videos/two-seconds.mp4'))

/** A provider that does as it is told, and remembers what it was asked. Several nodes may share it. */
export interface ScriptedProvider extends VideoProvider {
  readonly submits: VideoTask[]
  readonly cancels: string[]
  polls: number
  /** What the next submits throw, one each; `null` lets one pass. */
  readonly submitErrors: (UpstreamError | null)[]
  readonly pollErrors: (UpstreamError | null)[]
  /** Whether a submit that throws has begun the job all the same. */
  beginsAllTheSame: boolean
  /** Resolves when the next submit has come in. */
  nextSubmit (): Promise<string>
  /** Sets what polls of a job answer. */
  set (handle: string, state: VideoState): void
  finish (handle: string, more?: Partial<Extract<VideoState, { state: 'succeeded' }>>): void
}

interface Abilities {
  submitsOnce?: boolean
  finds?: boolean
  /** `others`: jobs of other models only. */
  cancels?: boolean | 'others'
  pictures?: 'url' | 'bytes'
}

export function createProvider (abilities: Abilities = {}): ScriptedProvider {
  const states = new Map<string, VideoState>()
  const listeners: ((handle: string) => void)[] = []
  const provider: ScriptedProvider = {
    polling: { minMs: 5, maxMs: 20, deadlineMs: 60_000 },
    submitsOnce: abilities.submitsOnce ?? false,
    ...(abilities.pictures === undefined ? {} : { frameFormat: abilities.pictures }),
    choices: () => ({ seconds: 15, size: '1280x720', sound: 'stated' }),
    check: () => {},
    submits: [],
    cancels: [],
    polls: 0,
    submitErrors: [],
    pollErrors: [],
    beginsAllTheSame: false,
    nextSubmit: () => new Promise(resolve => listeners.push(resolve)),
    set: (handle, state) => { states.set(handle, state) },
    finish (handle, more = {}) {
      states.set(handle, { state: 'succeeded', videos: [fileOf(twoSeconds)], seconds: null, costNano: null, ...more })
    },
    async submit (task) {
      const error = provider.submitErrors.shift() ?? null
      const handle = `video-${task.submitKey}`
      if (error === null || provider.beginsAllTheSame) {
        provider.submits.push(task)
        if (!states.has(handle)) states.set(handle, { state: 'queued', progress: null })
      }
      listeners.shift()?.(handle)
      if (error !== null) throw error
      return { handle }
    },
    async poll (handle) {
      provider.polls++
      const error = provider.pollErrors.shift() ?? null
      if (error !== null) throw error
      const state = states.get(handle)
      if (state !== undefined) return state
      throw new UpstreamError('not_found', 'yes', 'no such video', { status: 404 })
    }
  }
  if (abilities.cancels !== undefined && abilities.cancels !== false) {
    provider.cancel = async handle => { provider.cancels.push(handle) }
    if (abilities.cancels === 'others') provider.canCancel = () => false
  }
  if (abilities.finds === true) {
    provider.find = async ({ submitKey }) => states.has(`video-${submitKey}`) ? `video-${submitKey}` : null
  }
  return provider
}

/** A file that has to be opened with the provider's key. */
export function fileOf (bytes: Buffer): VideoFile {
  return {
    open: async (): Promise<UpstreamResponse> => ({
      status: 200,
      headers: {},
      read: async () => bytes,
      pipeTo (sink) {
        sink.chunk(bytes)
        sink.end()
      },
      resume () {},
      cancel () {},
      finish () {},
      async * [Symbol.asyncIterator] () { yield bytes }
    })
  }
}

export const lost = () => new UpstreamError('network', 'maybe', 'the connection was reset')
export const unreachable = () => new UpstreamError('network', 'no', 'the connection was refused')
export const busy = () => new UpstreamError('rate', 'yes', 'too many', { status: 429, retryAfterMs: 1 })
export const moderated = () => new UpstreamError('moderated', 'yes', 'not this prompt', { status: 400 })
