import type { UpstreamError } from '../shared/errors.ts'
import type { UpstreamResponse } from './upstream/response.ts'

/** What changes the price of a video: made before it is priced, and stated in the request to the provider. */
export interface PricedChoices {
  seconds: number
  /** In pixels; a provider of resolutions by name gets the name of its number of pixels. */
  size: VideoSize
  audio: boolean
}

export interface VideoSize { width: number, height: number }

/** What no price depends on. Null: the provider's default. */
interface FreeChoices {
  prompt: string
  /** Whether the client asked for the size, so that its shape is a wish too. */
  isSizeAsked: boolean
  /** As asked for: `<width>:<height>`, e.g. `16:9`. */
  aspectRatio: string | null
  seed: number | null
}

/** One video to generate. Length, size and frames are already checked against the model. */
export interface VideoTask extends PricedChoices, FreeChoices {
  model: string
  firstFrame: FrameImage | null
  lastFrame: FrameImage | null
  /** Idempotency key: unique per job, and the same when it is resubmitted. */
  submitKey: string
  /** When the job was first submitted, in ms since 1970, for `find`; absent: unknown. */
  submittedAt?: number
}

/** An image as the client sent it: an https URL, or the bytes of a data URL. */
export type FrameImage = { url: string } | { bytes: Uint8Array, mime: string }

/** What a request for a model states where neither the client nor the configuration has chosen. */
export interface VideoChoices {
  seconds: number
  /** `<width>x<height>` */
  size: string
  /** Whether the request states it; else every video has sound, or none. */
  sound: 'stated' | 'always' | 'never'
}

/** Shortest and longest wait between polls, and when to give a job up, in ms. */
export interface Polling { minMs: number, maxMs: number, deadlineMs: number }

export type VideoState =
  | { state: 'queued' | 'running', /** 0 to 100; null when the provider says nothing. */ progress: number | null }
  | {
    state: 'succeeded'
    videos: VideoFile[]
    /** Seconds of video as the provider measured them; null: not reported. */
    seconds: number | null
    /** The cost reported by the provider, in nano-USD; null: not reported. */
    costNano: number | null
  }
  | { state: 'failed' | 'cancelled', error: UpstreamError }

const daySeconds = 86_400

/** A length in seconds as a provider or a file reports it; null unless it can be one. */
export function videoLength (seconds: number | null): number | null {
  return seconds !== null && seconds > 0 && seconds <= daySeconds ? seconds : null
}

/** A public URL; where the key is needed, a function that opens it or throws UpstreamError; or the bytes. */
export type VideoFile =
  { url: string } | { open (signal: AbortSignal): Promise<UpstreamResponse> } | { bytes: Uint8Array }

/**
 * Generates videos at one provider: submit, then poll until the job ends. A handle is text that is stored
 * with the job and stays valid across restarts. All methods throw UpstreamError.
 *
 * When a submit fails, `sent` is `no` if it never left, `yes` if the provider refused it, so that nothing
 * runs or is charged, else `maybe`: a job without a handle may be running. A poll that throws says nothing
 * about the job, except that `auth` is final, and so is `not_found` for a job that is not new.
 */
export interface VideoProvider {
  readonly polling: Polling
  /** Whether repeated submits with the same `submitKey` create one video only. */
  readonly submitsOnce: boolean
  /** The only form of frame images it accepts; absent: both. */
  readonly frameFormat?: 'url' | 'bytes'
  choices (model: string): VideoChoices
  /**
   * Throws UpstreamError `bad_request`, with the name of a wish that a request cannot state. Nothing is sent.
   */
  check (task: VideoTask): void
  submit (task: VideoTask, signal: AbortSignal): Promise<{ handle: string }>
  poll (handle: string, signal: AbortSignal): Promise<VideoState>
  /** Resolves also if the job has ended. Only for jobs without a client: some providers delete the video. */
  cancel?: (handle: string, signal: AbortSignal) => Promise<void>
  /** Whether `cancel` stops the job with this handle; absent: it stops any. */
  canCancel?: (handle: string) => boolean
  /** The handle of the job with this `submitKey`; null if there is certainly none. Throws if unknown. */
  find?: (task: VideoTask, signal: AbortSignal) => Promise<string | null>
}

/** The request as stored with the job; frames are https or data URLs. */
export interface JobTask extends PricedChoices, FreeChoices {
  firstFrame: string | null
  lastFrame: string | null
}

/** What a client asks for; null: nothing. */
export type VideoOptions = Omit<JobTask, keyof PricedChoices | 'isSizeAsked'> &
  { [Key in keyof PricedChoices]: PricedChoices[Key] | null }
