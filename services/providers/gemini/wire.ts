import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'

// The part of Gemini's wire format that is written here. Source: @google/genai 3.1.0, types `Content`,
// `Part`, `Tool`, `ToolConfig` and `GenerateContentConfig`, as its converters put them on the wire of the
// Gemini API.

/** Bytes in base64, with their type. */
export interface InlineData { mimeType: string, data: string }

/** A call of a function, by the model; `args` is always an object. */
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

/** One turn. The model's own turns have the role `model`, everything else is `user`. */
export interface Content { role: 'user' | 'model', parts: Part[] }

export interface FunctionDeclaration { name: string, description?: string, parametersJsonSchema?: JsonObject }

export interface FunctionCallingConfig {
  mode: 'AUTO' | 'ANY' | 'NONE' | 'VALIDATED'
  allowedFunctionNames?: string[]
}

/** How much a model thinks: by level since Gemini 3, by a number of tokens before. */
export interface ThinkingConfig {
  thinkingLevel?: string
  /** 0 turns thinking off, -1 leaves it to the model. */
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

/** Body of `generateContent` and `streamGenerateContent`. */
export interface GenerateContentRequest {
  contents: Content[]
  systemInstruction?: { parts: { text: string }[] }
  tools?: { functionDeclarations: FunctionDeclaration[] }[]
  toolConfig?: { functionCallingConfig: FunctionCallingConfig }
  generationConfig?: GenerationConfig
}

/** A request that has no equivalent here and means something else without what it asks for: a 400. */
export function refused (message: string, param: string, code = 'unsupported_parameter'): UpstreamError {
  return new UpstreamError('bad_request', 'no', message, { param, code })
}
