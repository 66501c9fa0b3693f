// The part of the Messages API in use. Source: @anthropic-ai/sdk 1.12.0, resources/messages, and for
// `temperature`, `top_p` and `top_k` API version 2023-06-01. A test compares these types with the SDK's.

/** Body of `POST /v1/messages`. */
export interface MessagesRequest {
  model: string
  max_tokens: number
  messages: Turn[]
  system?: TextBlock[]
  stream?: boolean
  stop_sequences?: string[]
  temperature?: number
  top_p?: number
  top_k?: number
  tools?: AnthropicTool[]
  tool_choice?: AnthropicToolChoice
  thinking?: Thinking
  output_config?: { effort?: AnthropicEffort, format?: { type: 'json_schema', schema: Record<string, unknown> } }
  metadata?: { user_id: string }
  service_tier?: 'auto' | 'standard_only'
  cache_control?: AnthropicCacheControl
}

export interface Turn { role: 'user' | 'assistant', content: Block[] }

export interface AnthropicCacheControl { type: 'ephemeral', ttl?: '5m' | '1h' }

interface Cacheable { cache_control?: AnthropicCacheControl }

export interface TextBlock extends Cacheable { type: 'text', text: string }

export interface ImageBlock extends Cacheable {
  type: 'image'
  source: { type: 'base64', media_type: ImageType, data: string } | { type: 'url', url: string }
}

export type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

export interface DocumentBlock extends Cacheable {
  type: 'document'
  source:
    { type: 'base64', media_type: 'application/pdf', data: string } |
    { type: 'text', media_type: 'text/plain', data: string } |
    { type: 'url', url: string }
  title?: string
}

export interface ToolUseBlock extends Cacheable { type: 'tool_use', id: string, name: string, input: unknown }

export interface ToolResultBlock extends Cacheable { type: 'tool_result', tool_use_id: string, content?: TextBlock[] }

/** A signed thought; it must be sent back unchanged. */
export type ThinkingBlock =
  { type: 'thinking', thinking: string, signature: string } |
  { type: 'redacted_thinking', data: string }

export type Block = TextBlock | ImageBlock | DocumentBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock

export interface AnthropicTool extends Cacheable {
  name: string
  description?: string
  input_schema: { type: 'object', [keyword: string]: unknown }
  strict?: boolean
}

export type AnthropicToolChoice =
  { type: 'auto' | 'any', disable_parallel_tool_use?: boolean } |
  { type: 'tool', name: string, disable_parallel_tool_use?: boolean } |
  { type: 'none' }

export type AnthropicEffort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export type Thinking =
  { type: 'adaptive', display?: 'summarized' | 'omitted' } |
  { type: 'enabled', budget_tokens: number } |
  { type: 'disabled' } |
  { type: 'between_tools' }
