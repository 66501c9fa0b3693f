import { Type, type Static } from '@sinclair/typebox'
import { oneOf, strict } from './fields.ts'

const count = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000, description }))

const ToolCallStep = Type.Object({
  name: Type.String({ minLength: 1 }),
  arguments: Type.Unknown({ description: 'An object; or text, which is sent as it is, even if it is no JSON.' })
}, strict)

const UsageStep = Type.Object({
  prompt: count('Tokens of the prompt.'),
  completion: count('Tokens of the response.'),
  cached: count('Those of the prompt that were cached.'),
  reasoning: count('Those of the response that were reasoning.')
}, strict)

const ErrorStep = Type.Object({
  status: Type.Optional(Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status of the provider.' })),
  kind: Type.Optional(oneOf(['timeout', 'network', 'moderated'], { description: 'A failure without a status.' })),
  message: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
  retry_after_ms: count('The wait that the provider requests.')
}, strict)

const VideoStep = Type.Object({
  queued: count('How many polls find the job in its queue.'),
  failed: Type.Optional(Type.String({ description: 'The code of its failure.' }))
}, strict)

/** One call of a provider. What it leaves out is as the sandbox does it. */
export const ScriptStep = Type.Object({
  text: Type.Optional(Type.String()),
  reasoning: Type.Optional(Type.String()),
  refusal: Type.Optional(Type.String()),
  tool_calls: Type.Optional(Type.Array(ToolCallStep)),
  finish_reason: Type.Optional(oneOf(['stop', 'length', 'tool_calls', 'content_filter'], {
    description: 'Why the response ended.'
  })),
  usage: Type.Optional(UsageStep),
  error: Type.Optional(ErrorStep),
  video: Type.Optional(VideoStep),
  delay_ms: count('The wait before the response, or its first chunk.'),
  pace_ms: count('The wait between two chunks.'),
  cut_at: count('After how many chunks the connection breaks.')
}, { ...strict, description: 'One call of a provider.' })
export type ScriptStep = Static<typeof ScriptStep>

/** A script: the calls of each model, by its name at the provider. */
export const ScriptFile = Type.Object({
  models: Type.Record(Type.String(), Type.Array(ScriptStep), { description: 'The calls of each model, in order.' })
}, strict)
export type ScriptFile = Static<typeof ScriptFile>
