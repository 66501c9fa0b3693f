import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'

/** One call for images. The model can do what is asked: size, quality and number have been checked. */
export interface ImageCall {
  request: ImageGenerationRequest
  /** The model's name at the provider. */
  model: string
  /** How many images to make; a provider that makes one at a time is called as often by the maker itself. */
  count: number
  /** Null: the provider's own default; so for the quality. */
  size: ImageSize | null
  quality: string | null
  requestId: string
  /** Aborted when the gateway gives up; the provider must then stop and free everything. */
  signal: AbortSignal
}

/** In pixels. */
export interface ImageSize { width: number, height: number }

/** One image: the bytes themselves, or the provider's address of them, which lives for minutes to hours. */
export type GeneratedImage = { bytes: Uint8Array, revisedPrompt: string | null } |
  { url: string, revisedPrompt: string | null }

export interface ImageAnswer {
  /** At least one, at most `count`; fewer when some could not be made. */
  images: GeneratedImage[]
  /** Tokens, where the provider counts them. */
  usage: ImageUsage | null
  /** What the provider says it charged, in nano-USD; null when it says nothing. */
  costNano: number | null
  /** Names of request fields the provider cannot take and that were left out. */
  dropped: readonly string[]
  /** What the provider says it made of a choice that was left to it. */
  chosen?: ChosenOptions
}

/** Tokens of a call. `output` are those of the images, `outputText` those of thoughts and words besides. */
export interface ImageUsage { inputText: number, inputImage: number, output: number, outputText: number }

export interface ChosenOptions { quality?: string, background?: string }

/** Makes images at one provider. Throws UpstreamError, of kind `moderated` when the prompt was refused. */
export type ImageProvider = (call: ImageCall) => Promise<ImageAnswer>

export const sizeText = ({ width, height }: ImageSize): string => `${width}x${height}`

/** What is to be made, as the model can make it. */
export interface ImageOptions {
  count: number
  /** Null: the provider chooses; so for the quality. */
  size: ImageSize | null
  quality: string | null
  /** Fields that mean nothing to this model. */
  dropped: readonly string[]
}
