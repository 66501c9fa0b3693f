import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { isObject, ownMember } from '../../shared/json.ts'
import { tokenCount } from '../usage.ts'

/**
 * Gemini's counts in OpenAI's form: thoughts count as completion. Null unless all of them are counts. Source:
 * @google/genai 3.1.0.
 */
export function usageOf (metadata: unknown): CompletionUsage | null {
  if (!isObject(metadata)) return null
  if (metadata.promptTokenCount === undefined && metadata.totalTokenCount === undefined) return null
  const thoughts = protobufCount(metadata.thoughtsTokenCount)
  const prompt = protobufCount(metadata.promptTokenCount) + protobufCount(metadata.toolUsePromptTokenCount)
  const completion = protobufCount(metadata.candidatesTokenCount) + thoughts
  if (Number.isNaN(prompt + completion)) return null
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: tokenCount(metadata.cachedContentTokenCount) ?? 0,
      ...byModality(metadata.promptTokensDetails)
    },
    completion_tokens_details: { reasoning_tokens: thoughts, ...byModality(metadata.candidatesTokensDetails) }
  }
}

const names: Readonly<Record<string, 'audio_tokens' | 'image_tokens' | 'text_tokens'>> = {
  AUDIO: 'audio_tokens', IMAGE: 'image_tokens', TEXT: 'text_tokens'
}

function byModality (details: unknown): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const detail of Array.isArray(details) ? details : []) {
    if (!isObject(detail) || typeof detail.modality !== 'string') continue
    const name = ownMember(names, detail.modality)
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + (tokenCount(detail.tokenCount) ?? 0)
  }
  return counts
}

/** A count of tokens; protobuf omits zeros. NaN for what is no count. */
export function protobufCount (value: unknown): number {
  return tokenCount(value ?? 0) ?? NaN
}
