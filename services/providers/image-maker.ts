import type { ImageGenerationRequest } from '../../schemas/images-generations.ts'

/** One call for images. The model can do what is asked: size and number have been checked. */
export interface ImageCall {
  request: ImageGenerationRequest
  /** The model's name at the provider. */
  model: string
  /** How many images to make; a provider that makes one at a time is called as often by the maker itself. */
  count: number
  /** Null: the provider's own default. */
  size: { width: number, height: number } | null
  requestId: string
  signal: AbortSignal
}

/** One image: the bytes themselves, or the provider's address of them, which lives for minutes to hours. */
export type MadeImage = { bytes: Uint8Array, revisedPrompt: string | null } |
  { url: string, revisedPrompt: string | null }

export interface ImageAnswer {
  /** At least one, at most `count`; fewer when some could not be made. */
  images: MadeImage[]
  /** Tokens, where the provider prices by them. */
  usage: ImageUsage | null
  /** What the provider says it charged, in nano-USD; null when it says nothing. */
  costNano: number | null
  /** Names of request fields the provider cannot take and that were left out. */
  dropped: readonly string[]
}

export interface ImageUsage { inputText: number, inputImage: number, output: number }

/** Makes images at one provider. Throws UpstreamError, of kind `moderated` when the prompt was refused. */
export type ImageMaker = (call: ImageCall) => Promise<ImageAnswer>
