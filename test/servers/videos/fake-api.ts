import type { IncomingHttpHeaders } from 'node:http'
import { Type, type TProperties, type TSchema } from '@sinclair/typebox'
import type { Protocol } from '../../../schemas/config/known-providers.ts'

/** State of a job at the provider. */
export type JobState = 'queued' | 'running' | 'succeeded' | 'failed' | 'moderated' | 'expired' | 'cancelled'

export interface Job {
  id: string
  state: JobState
  /** The body it was submitted with. */
  body: Record<string, unknown>
  /** The path it was submitted to, relative to the base. */
  path: string
  createdAt: number
}

export interface FakeResponse { status?: number, body?: unknown, headers?: Record<string, string> }

/** Why a provider rejects a request. */
export type RejectionReason = 'invalid' | 'moderated' | 'auth' | 'quota' | 'rate' | 'unknown'

/** A provider's API as the fake server speaks it. Patterns match the path relative to the base. */
export interface FakeVideoApi {
  /** Name of the protocol or of the OpenAI-compatible dialect. */
  protocol: Protocol | 'openrouter' | 'together' | 'xai'
  /** Path of the API, e.g. `/v1`. */
  base: string
  apiKey: string
  model: string
  isAuthorized (headers: IncomingHttpHeaders): boolean
  /** Headers that a submit must have. */
  submitHeaders?: Record<string, string>
  submit: { path: RegExp, schema: TSchema }
  submitResponse (job: Job): FakeResponse
  /** Captures the id of a job; of a poll that is a POST, in its path and body. */
  poll: RegExp
  polledBy?: 'POST'
  /** `video` is the URL of the file. */
  pollResponse (job: Job, video: string): FakeResponse
  /** A second request for the result of a completed job; captures the id. */
  result?: { path: RegExp, answer: (job: Job, video: string) => FakeResponse }
  cancel?: { method: string, path: RegExp, answer?: FakeResponse }
  /** Path of a video that needs the API key; captures the id. */
  content?: RegExp
  /** Such a video is redirected to this prefix before its path, where the key is needed again. */
  movedTo?: string
  /** The provider's own origin, which its answers name; default: that of the server. */
  origin?: string
  errorResponse (why: RejectionReason, message: string): FakeResponse
  /** The states the provider reports. */
  states: readonly JobState[]
  /**
   * Where a submit states what changes the price: paths in the body, alternatives after `|`, products after
   * `*`; for audio also whether every video has it.
   */
  priced: { seconds: string, resolution: string, audio: string | boolean }
  frames: { picture: 'url' | 'bytes' | 'any', last: boolean }
  /** A length that the model makes, with pictures too; default: 8 seconds. */
  seconds?: number
  /** Whether text makes videos of 16:9 only. */
  isWideOnly?: true
  /** Sizes of such; default: 1280 by 720. */
  wide?: { width: number, height: number }
  /** What must be read from the response about a completed job. */
  expected: { seconds: number | null, costNano: number | null, progress: number | null }
}

export const bearerIs = (key: string) => (headers: IncomingHttpHeaders) => headers.authorization === `Bearer ${key}`

/** An object schema without additional properties. */
export function strict<Fields extends TProperties> (fields: Fields) {
  return Type.Object(fields, { additionalProperties: false })
}

export const optional = Type.Optional
export const text = () => Type.String({ minLength: 1 })
export const integer = () => Type.Integer()
export const oneOf = (...values: string[]) => Type.Union(values.map(value => Type.Literal(value)))
/** An HTTPS URL or a data URL. */
export const imageUrlOrData = () => Type.String({ pattern: '^(https://|data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/]+=*$)' })
export const httpsUrl = () => Type.String({ pattern: '^https://' })
export const base64 = () => Type.String({ pattern: '^[A-Za-z0-9+/]+=*$' })

/** OpenAI's status for each reason; most other APIs use the same. */
export const statusOf: Readonly<Record<RejectionReason, number>> = {
  invalid: 400, moderated: 400, auth: 401, quota: 402, rate: 429, unknown: 404
}
