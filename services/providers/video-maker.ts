import type { UpstreamError } from '../errors.ts'
import type { Exchange } from './provider.ts'

/** One video to make. The model can do what is asked: length, size and pictures have been checked. */
export interface VideoTask {
  /** The model's name at the provider. */
  model: string
  prompt: string
  /** Null: the provider's own default; so for all that follows. */
  seconds: number | null
  size: { width: number, height: number } | null
  /** `<width>:<height>`, e.g. `16:9`. */
  aspectRatio: string | null
  seed: number | null
  audio: boolean | null
  firstFrame: Picture | null
  lastFrame: Picture | null
  /** Unique per job and unchanged when it is submitted again; for providers that know such a key. */
  submitKey: string
}

/** A picture as the client sent it: an https URL, or the bytes of a data URL. */
export type Picture = { url: string } | { bytes: Uint8Array, mime: string }

/** How long to wait between polls, and when to give a job up, in ms. */
export interface Polling { minMs: number, maxMs: number, deadlineMs: number }

export type VideoState =
  | { state: 'queued' | 'running', /** 0 to 100; null when the provider says nothing. */ progress: number | null }
  | {
    state: 'succeeded'
    videos: VideoFile[]
    /** Seconds of video as the provider measured them; null when it says nothing. */
    seconds: number | null
    /** What the provider says it charged, in nano-USD; null when it says nothing. */
    costNano: number | null
  }
  | { state: 'failed' | 'cancelled', error: UpstreamError }

/**
 * A finished video at the provider: a public address, or, where the provider's key is needed, a way to open
 * it.
 */
export type VideoFile = { url: string } | { open (signal: AbortSignal): Promise<Exchange> }

/**
 * Makes videos at one provider: submit, then poll until it ends. A handle is text that is kept with the job
 * and stays good across restarts. All methods throw UpstreamError; its `sent` tells whether a submit may be
 * repeated.
 */
export interface VideoMaker {
  readonly polling: Polling
  /** Whether a repeated submit with the same `submitKey` makes one video only. */
  readonly submitsOnce: boolean
  submit (task: VideoTask, signal: AbortSignal): Promise<{ handle: string }>
  poll (handle: string, signal: AbortSignal): Promise<VideoState>
  cancel?: (handle: string, signal: AbortSignal) => Promise<void>
  /** The handle of a job submitted with this key; null when the provider certainly has none. */
  find?: (task: VideoTask, signal: AbortSignal) => Promise<string | null>
}
