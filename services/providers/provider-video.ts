import type { UpstreamError } from '../shared/errors.ts'
import type { Exchange } from '../upstream/exchange.ts'

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
  firstFrame: FrameImage | null
  lastFrame: FrameImage | null
  /** Unique per job and unchanged when it is submitted again; for providers that know such a key. */
  submitKey: string
  /** When it was first submitted, in ms since 1970, for `find`. Absent: not known. */
  submittedAt?: number
}

/** A picture as the client sent it: an https URL, or the bytes of a data URL. */
export type FrameImage = { url: string } | { bytes: Uint8Array, mime: string }

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
 * A finished video at the provider: a public address, to be fetched without any key; or, where the provider's
 * key is needed, a way to open it, which resolves with status 200 and throws UpstreamError for all else.
 */
export type VideoFile = { url: string } | { open (signal: AbortSignal): Promise<Exchange> }

/**
 * Makes videos at one provider: submit, then poll until it ends. A handle is text that is kept with the job
 * and stays good across restarts. All methods throw UpstreamError.
 *
 * Of a failed submit, `sent` is `no` when it never left, `yes` when the provider refused it, so that nothing
 * runs and nothing is charged; else `maybe`: a video may be under way that nobody has a handle of. A poll
 * that throws says nothing about the job: only `auth` is final, and `not_found` when the job is not new.
 */
export interface VideoProvider {
  readonly polling: Polling
  /** Whether a repeated submit with the same `submitKey` makes one video only. */
  readonly submitsOnce: boolean
  /** The only form in which it takes pictures; absent: an address or bytes alike. */
  readonly frameFormat?: 'url' | 'bytes'
  submit (task: VideoTask, signal: AbortSignal): Promise<{ handle: string }>
  poll (handle: string, signal: AbortSignal): Promise<VideoState>
  /**
   * Resolves when the provider has taken note, and when it is too late. Some providers delete what is
   * cancelled too late, so it is for jobs that nobody wants any more.
   */
  cancel?: (handle: string, signal: AbortSignal) => Promise<void>
  /**
   * The handle of a job submitted with this key; null when the provider certainly has none. Throws when it
   * cannot tell.
   */
  find?: (task: VideoTask, signal: AbortSignal) => Promise<string | null>
}

/** What is asked for, as it is kept with the job; pictures are https or data URLs. */
export interface JobTask {
  prompt: string
  seconds: number | null
  size: { width: number, height: number } | null
  aspectRatio: string | null
  seed: number | null
  audio: boolean | null
  firstFrame: string | null
  lastFrame: string | null
}
