import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'

/** One call for images. Size, quality and count are already checked against the model. */
export interface ImageCall {
  request: ImageGenerationRequest
  model: string
  /** How many images to generate, whatever the upstream's limit per call is. */
  count: number
  /** Null: the provider's default; so for the quality. */
  size: ImageSize | null
  quality: string | null
  requestId: string
  /** The client's directive for the sandbox; every other provider ignores it. */
  sandbox?: string | undefined
  /** Aborted when the gateway gives up; the provider must then free everything. */
  signal: AbortSignal
}

/** In pixels. */
export interface ImageSize { width: number, height: number }

/** One image: its bytes, or the provider's URL of them, which expires after minutes to hours. */
export type GeneratedImage = { bytes: Uint8Array, revisedPrompt: string | null } |
  { url: string, revisedPrompt: string | null }

export interface GeneratedImages {
  /** At least one, at most `count`; fewer when some failed. */
  images: GeneratedImage[]
  /** Null: the provider reports no tokens. */
  usage: ImageUsage | null
  /** The cost reported by the provider, in nano-USD; null: not reported. */
  costNano: number | null
  dropped: readonly string[]
  /** Options that were left to the provider, as it reports them. */
  chosen?: { quality?: string, background?: string }
}

/** Tokens of a call. `output` counts the images, `outputText` text and thoughts. */
export interface ImageUsage { inputText: number, inputImage: number, output: number, outputText: number }

/** Generates images. Throws UpstreamError, of kind `moderated` when the prompt was refused. */
export interface ImageProvider {
  (call: ImageCall): Promise<GeneratedImages>
  /** Whether the quality that is asked of a model is sent; absent: it is. */
  statesQuality?: (model: string) => boolean
}

/** For providers whose models have no quality. */
export const withoutQuality = (generate: ImageProvider): ImageProvider =>
  Object.assign(generate, { statesQuality: () => false })

export const sizeText = ({ width, height }: ImageSize): string => `${width}x${height}`

export interface ImageOptions {
  count: number
  /** Null: the provider's default; so for the quality. */
  size: ImageSize | null
  quality: string | null
  dropped: readonly string[]
}
