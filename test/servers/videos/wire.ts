import type { IncomingHttpHeaders } from 'node:http'
import { Type, type TObject, type TProperties } from '@sinclair/typebox'
import type { Protocol } from '../../../schemas/config/providers.ts'

/** What has become of a job at the provider. */
export type JobState = 'queued' | 'running' | 'succeeded' | 'failed' | 'moderated' | 'expired' | 'cancelled'

export interface Job {
  id: string
  state: JobState
  /** The body it was submitted with. */
  body: Record<string, unknown>
  /** The path it was submitted to, below the base. */
  path: string
  createdAt: number
}

export interface Answer { status?: number, body?: unknown, headers?: Record<string, string> }

/** Why a provider refuses a request. */
export type Refusal = 'invalid' | 'moderated' | 'auth' | 'quota' | 'rate' | 'unknown'

/** The wire format of one provider, from its side. Patterns are of the path below the base. */
export interface Wire {
  /** Name of the protocol, or of the OpenAI-compatible dialect, that speaks it. */
  form: Protocol | 'openrouter' | 'together' | 'xai'
  /** Where the API begins, e.g. `/v1`. */
  base: string
  apiKey: string
  model: string
  isAuthorized (headers: IncomingHttpHeaders): boolean
  /** Headers that a submit must carry, besides those of JSON. */
  submitHeaders?: Record<string, string>
  submit: { path: RegExp, schema: TObject }
  /** The answer to a submit. */
  accepted (job: Job): Answer
  /** Captures the id of a job. */
  poll: RegExp
  /** The answer to a poll. `video` is the address of the file. */
  told (job: Job, video: string): Answer
  /** A second question that a finished job takes; captures the id. */
  result?: { path: RegExp, answer: (job: Job, video: string) => Answer }
  cancel?: { method: string, path: RegExp, answer?: Answer }
  /** The path of a video that needs the key; captures the id. */
  content?: RegExp
  refused (why: Refusal, message: string): Answer
  /** What the provider knows of. */
  states: readonly JobState[]
  frames: { picture: 'url' | 'bytes' | 'any', last: boolean }
  /** What the answer about a finished job must have been read as. */
  expected: { seconds: number | null, costNano: number | null, progress: number | null }
}

export const bearerIs = (key: string) => (headers: IncomingHttpHeaders) => headers.authorization === `Bearer ${key}`

/** An object with these fields and no others. */
export function strict<Fields extends TProperties> (fields: Fields) {
  return Type.Object(fields, { additionalProperties: false })
}

export const optional = Type.Optional
export const text = () => Type.String({ minLength: 1 })
export const integer = () => Type.Integer()
export const oneOf = (...values: string[]) => Type.Union(values.map(value => Type.Literal(value)))
/** An https address, or a data URL. */
export const picture = () => Type.String({ pattern: '^(https://|data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/]+=*$)' })
export const address = () => Type.String({ pattern: '^https://' })
export const base64 = () => Type.String({ pattern: '^[A-Za-z0-9+/]+=*$' })

/** OpenAI's statuses of refusals; most others have the same. */
export const statusOf: Readonly<Record<Refusal, number>> = {
  invalid: 400, moderated: 400, auth: 401, quota: 402, rate: 429, unknown: 404
}
