import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'

// The part of Gemini's wire format in use. Source: @google/genai 3.1.0, types `Content`, `Part`, `Tool`,
// `ToolConfig` and `GenerateContentConfig`, as its converters serialize them for the Gemini API.

export interface InlineData { mimeType: string, data: string }

/** A function call by the model; `args` is always an object. */
export interface FunctionCallPart {
  functionCall: { id?: string, name: string, args: JsonObject }
  thoughtSignature?: string
}

export interface FunctionResponsePart {
  functionResponse: { id?: string, name: string, response: JsonObject }
}

export type Part =
  | { text: string, thoughtSignature?: string }
  | { inlineData: InlineData }
  | { fileData: { fileUri: string, mimeType?: string } }
  | FunctionCallPart
  | FunctionResponsePart

/** One turn; everything but the model's own is `user`. */
export interface Content { role: 'user' | 'model', parts: Part[] }

export interface FunctionDeclaration { name: string, description?: string, parametersJsonSchema?: JsonObject }

export interface FunctionCallingConfig {
  mode: 'AUTO' | 'ANY' | 'NONE' | 'VALIDATED'
  allowedFunctionNames?: string[]
}

/** By level since Gemini 3, by a token budget before. */
export interface ThinkingConfig {
  thinkingLevel?: string
  /** 0: off; -1: the model decides. */
  thinkingBudget?: number
  includeThoughts?: boolean
}

export interface GenerationConfig {
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  candidateCount?: number
  stopSequences?: string[]
  seed?: number
  presencePenalty?: number
  frequencyPenalty?: number
  responseLogprobs?: boolean
  logprobs?: number
  responseMimeType?: string
  responseJsonSchema?: JsonObject
  thinkingConfig?: ThinkingConfig
}

export interface GenerateContentRequest {
  contents: Content[]
  systemInstruction?: { parts: { text: string }[] }
  tools?: { functionDeclarations: FunctionDeclaration[] }[]
  toolConfig?: { functionCallingConfig: FunctionCallingConfig }
  generationConfig?: GenerationConfig
}

/** The 400 for a field that has no equivalent and cannot be dropped. */
export function unsupportedField (message: string, param: string, code = 'unsupported_parameter'): UpstreamError {
  return new UpstreamError('bad_request', 'no', message, { param, code })
}
