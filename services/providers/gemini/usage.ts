import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { isObject } from '../../shared/json.ts'

/** Gemini's counts in OpenAI's form: thoughts count as completion. Source: @google/genai 3.1.0. */
export function usageOf (metadata: unknown): CompletionUsage | null {
  if (!isObject(metadata)) return null
  if (metadata.promptTokenCount === undefined && metadata.totalTokenCount === undefined) return null
  const thoughts = countOf(metadata.thoughtsTokenCount)
  const prompt = countOf(metadata.promptTokenCount) + countOf(metadata.toolUsePromptTokenCount)
  const completion = countOf(metadata.candidatesTokenCount) + thoughts
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: countOf(metadata.cachedContentTokenCount),
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
    const name = names[detail.modality]
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + countOf(detail.tokenCount)
  }
  return counts
}

/** Protobuf omits zeros. */
function countOf (value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
