/**
 * Models that a provider serves only through its Responses API, by dialect and the provider's name for them.
 * Sources: openai 7.57.0, resources/shared.d.ts, `ResponsesModel`; @ai-sdk/openai 4.0.118,
 * src/openai-model-catalog.ts; docs.x.ai, "Multi-agent". OpenRouter serves them through both APIs.
 */
export const responsesOnlyModels = {
  openai: /^((gpt-[\d.]+|o\d)-(pro|codex(?!-spark))|codex-|computer-use|o\d(-mini)?-deep-research)/,
  xai: /multi-agent/
} as const satisfies Readonly<Record<string, RegExp>>

/** Those of them that need tools which the provider runs; chat completions have no fields for these. */
export const hostedToolsModels = {
  openai: /^(computer-use|o\d(-mini)?-deep-research)/,
  xai: responsesOnlyModels.xai
} as const satisfies Readonly<Record<string, RegExp>>
