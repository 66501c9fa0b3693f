/** Upper bounds of what cannot be counted before a call; holds are computed from them: see `promptSize`. */
export const tokenBounds = {
  /** Around each message. */
  message: 16,
  /** The instructions on tool use that a provider adds. */
  tools: 1000,
  /**
   * One image of any size: eight tiles of gpt-4o-mini; and at nearly all other models. Anthropic, "Vision":
   * 4784; OpenAI, "Images and vision": 2491; Google, "Media resolution": 2240.
   */
  image: 50_000,
  usualImage: 5000,
  /** One file beyond its bytes: its pages are read as images too. */
  file: 50_000,
  /** A page of a PDF. Anthropic, "PDF support": 1500 to 3000; Google, "Document understanding": 258. */
  page: 3000,
  /** A linked or compressed file, or a video, at a model whose context window is unknown. */
  linkedFile: 1_000_000,
  /** What the web searches for one answer may find, at a model whose context window is unknown. */
  searches: 200_000,
  /** Audio of an earlier answer, which the request only names: no model writes more. */
  pastAudio: 16_384,
  /** Fewest base64 characters per token of audio; the lowest bit rate of MP3 has five times as many. */
  audioCharsPerToken: 8,
  /** Fewest bytes per token of most texts: code has three. */
  usualBytesPerToken: 3
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
