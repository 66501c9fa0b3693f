import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import type { ResponseObject, ResponseRequest, ResponseUsage } from '../../../schemas/openai/responses.ts'

/** What a response has before it is written. */
export interface ResponseStart {
  id: string
  /** In Unix seconds. */
  createdAt: number
  request: ResponseRequest
  /** Whether it will be kept. */
  isStored: boolean
}

/** A response at its beginning, with what it repeats of the request. Source: openai@7.55.0, Response. */
export function beginResponse ({ id, createdAt, request, isStored }: ResponseStart): ResponseObject {
  const { reasoning, text } = request
  const repeated = {
    background: false,
    completed_at: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? null,
    reasoning: {
      effort: reasoning?.effort ?? null,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null
    },
    safety_identifier: request.safety_identifier ?? null,
    temperature: request.temperature ?? 1,
    text: { format: text?.format ?? { type: 'text' }, verbosity: text?.verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    user: request.user ?? null,
    metadata: request.metadata ?? {}
  }
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model: request.model,
    output: [],
    service_tier: request.service_tier ?? 'auto',
    store: isStored,
    usage: null,
    ...repeated
  }
}

/** The usage of chat in the names of this API. */
export function toResponseUsage (usage: CompletionUsage): ResponseUsage {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage
  return {
    ...(usage.cost === undefined ? {} : { cost: usage.cost }),
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: prompt?.cached_tokens ?? 0,
      cache_write_tokens: prompt?.cache_write_tokens ?? 0
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: completion?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens
  }
}
