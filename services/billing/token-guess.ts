/**
 * Upper bounds of what cannot be counted before a call; holds are computed from them. A byte-level tokenizer
 * only ever joins bytes, so text has at most one token per byte.
 */
export const tokenBounds = {
  /** Around each message. */
  message: 16,
  /** The instructions on tool use that a provider adds. */
  tools: 1000,
  /** One image of any size, and one file beyond its bytes: its pages are read as images too. */
  image: 50_000,
  file: 50_000,
  /** A file given by its address, or a video, at a model whose context window is unknown. */
  linkedFile: 1_000_000,
  /** What the web searches for one answer may find, at a model whose context window is unknown. */
  searches: 200_000,
  /** Fewest base64 characters per token of audio; the lowest bit rate of MP3 has five times as many. */
  audioCharsPerToken: 8
} as const

/** What the same things usually take: for estimates of usage, rate limits and routing. */
export const typicalTokens = {
  message: 4,
  /** A medium-sized image at providers that count images as tokens. */
  image: 1000,
  file: 2000,
  audio: 500,
  /** A video given by its address. */
  video: 5000,
  bytesPerToken: 4,
  /** English has about four characters per token, code three. */
  charsPerToken: 3.5
} as const

/**
 * What generated media take. Google, "Gemini 2.5 Flash Image": 1290 for an image. Speech has about five
 * tokens for each of its transcript in answers of gpt-4o-audio-preview, such as 148 beside 33.
 */
export const generatedTokens = { image: 1290, audioPerTranscript: 5 } as const

/** OpenAI's default `max_tokens` of a legacy completion. */
export const legacyMaxTokens = 16
