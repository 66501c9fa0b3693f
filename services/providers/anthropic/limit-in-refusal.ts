import { UpstreamError } from '../../shared/errors.ts'

/**
 * The longest answer that a refusal of `max_tokens` allows; null: it is about something else. Source:
 * docs.anthropic.com, "Context windows": models before Claude 4.5 count the answer and the prompt together.
 */
export function limitInRefusal (error: unknown): number | null {
  if (!(error instanceof UpstreamError) || error.details.status !== 400) return null
  const [, ofModel] = /max_tokens: \d+ > (\d+)/.exec(error.message) ?? []
  if (ofModel !== undefined) return atLeastOne(Number(ofModel))
  const [, prompt, window] = /\b(\d{1,12}) \+ \d{1,12} > (\d{1,12})/.exec(error.message) ?? []
  return atLeastOne(Number(window) - Number(prompt))
}

function atLeastOne (tokens: number): number | null {
  return tokens >= 1 ? tokens : null
}
