/** What a provider does in one call; the steps of `script:` in gateway.yaml have the same members. */
export interface StepData {
  text?: string
  reasoning?: string
  refusal?: string
  /** `arguments` as text is sent as it is, even if it is no JSON. */
  tool_calls?: { name: string, arguments: unknown }[]
  finish_reason?: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  usage?: { prompt?: number, completion?: number, cached?: number, reasoning?: number }
  error?: {
    status?: number
    kind?: 'timeout' | 'network' | 'moderated'
    message?: string
    code?: string
    retry_after_ms?: number
  }
  /** How many polls find the job in its queue, and the code with which it fails. */
  video?: { queued?: number, failed?: string }
  delay_ms?: number
  pace_ms?: number
  cut_at?: number
}

/** One step of a script. Its methods return a step with one more property. */
export interface Step {
  readonly data: StepData
  /** Tokens that the provider reports, which decide the cost. */
  usage (usage: NonNullable<StepData['usage']>): Step
  /** The text of the model's reasoning. */
  reasoning (text: string): Step
  finish (reason: NonNullable<StepData['finish_reason']>): Step
  /** The wait before the response, or before its first chunk. */
  delay (ms: number): Step
  /** The wait between two chunks. */
  pace (ms: number): Step
  /** After how many chunks the connection breaks; at once for a response that is not streamed. */
  cutAt (chunks: number): Step
}

/** Makes a step of its data. */
export function step (data: StepData): Step {
  return {
    data,
    usage: usage => step({ ...data, usage }),
    reasoning: reasoning => step({ ...data, reasoning }),
    finish: reason => step({ ...data, finish_reason: reason }),
    delay: ms => step({ ...data, delay_ms: ms }),
    pace: ms => step({ ...data, pace_ms: ms }),
    cutAt: chunks => step({ ...data, cut_at: chunks })
  }
}

/** A response of text. */
export const text = (content: string): Step => step({ text: content })

/** A call of one tool; text as `input` is sent as it is. */
export const toolCall = (name: string, input: unknown = {}): Step => toolCalls({ name, arguments: input })

/** A call of several tools at once. */
export const toolCalls = (...calls: { name: string, arguments: unknown }[]): Step =>
  step({ tool_calls: calls })

/** The model refuses. */
export const refusal = (words: string): Step => step({ refusal: words })

/** The provider fails with an HTTP status, e.g. 500 or 529. */
export const error = (status: number, { message, code }: { message?: string, code?: string } = {}): Step =>
  step({ error: { status, ...message !== undefined && { message }, ...code !== undefined && { code } } })

/** The provider responds with 429; `retryAfter` in seconds. */
export const rateLimited = ({ retryAfter = 1 }: { retryAfter?: number } = {}): Step =>
  step({ error: { status: 429, retry_after_ms: retryAfter * 1000 } })

/** The provider does not respond in time. */
export const timeout = (): Step => step({ error: { kind: 'timeout' } })

/** The provider cannot be reached. */
export const unreachable = (): Step => step({ error: { kind: 'network' } })

/** The provider's moderation refuses the prompt. */
export const moderated = (): Step => step({ error: { kind: 'moderated', code: 'content_policy_violation' } })

/** The usual response of the sandbox, after a delay. */
export const delay = (ms: number): Step => step({ delay_ms: ms })

/** The usual response of the sandbox, cut after some chunks. */
export const cutAt = (chunks: number): Step => step({ cut_at: chunks })

/** A plain image. */
export const image = (): Step => step({})

/** The job of a video: how often it is found in the queue, and how it ends. */
export interface VideoSteps {
  done: () => Step
  failed: (code: string) => Step
  queued: (polls: number) => Step
}

/** `video.done()`, `video.failed(code)`; `video.queued(2)` before one of them delays it by polls. */
export const video: VideoSteps = {
  done: () => step({ video: {} }),
  failed: code => step({ video: { failed: code } }),
  queued: polls => step({ video: { queued: polls } })
}
