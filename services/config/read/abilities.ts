import type { Parsed } from '../../../schemas/config/fields.ts'
import type { ImagesEntry } from '../../../schemas/config/images.ts'
import type { VideoEntry } from '../../../schemas/config/video.ts'
import { unknownImages } from '../catalogue/images.ts'
import { unknownVideo } from '../catalogue/videos.ts'
import type { ImageAbilities, VideoAbilities } from '../catalogue/types.ts'
import { complete } from './complete.ts'

/**
 * Completes an image model of the file from the catalogue. With a price in the file, the catalogue's prices
 * of images, and of text in the response, do not apply.
 */
export function readImages (
  own: Parsed<typeof ImagesEntry> | null, known: ImageAbilities | undefined, hasOwnPrice: boolean
): ImageAbilities | undefined {
  if (own === null && known === undefined) return undefined
  const base = known ?? unknownImages
  return {
    ...sizesOf(own, base),
    qualities: own?.qualities ?? base.qualities,
    prices: own?.prices ?? (hasOwnPrice ? [] : base.prices),
    tokens: own?.tokens == null ? base.tokens : [{ size: null, quality: null, tokens: own.tokens }],
    textOutputPico: hasOwnPrice ? null : base.textOutputPico
  }
}

/** Sizes in the file replace the catalogue's as a whole. */
function sizesOf (
  own: Parsed<typeof ImagesEntry> | null, known: ImageAbilities
): Pick<ImageAbilities, 'sizes' | 'sizeRange' | 'defaultSize'> {
  const { sizes = null, sizeRange = null, defaultSize = null } = own ?? {}
  if (sizes === null && sizeRange === null) {
    return { sizes: known.sizes, sizeRange: known.sizeRange, defaultSize: defaultSize ?? known.defaultSize }
  }
  return {
    sizes,
    sizeRange: sizeRange && { ...sizeRange, maxPixels: sizeRange.maxPixels ?? sizeRange.max ** 2 },
    defaultSize: defaultSize ?? sizes?.[0] ?? null
  }
}

/** Completes a video model of the file from the catalogue, without its prices if the file has one. */
export function readVideo (
  own: Parsed<typeof VideoEntry> | null, listed: VideoAbilities | undefined, hasOwnPrice: boolean
): VideoAbilities | undefined {
  const known = listed && hasOwnPrice ? { ...listed, prices: [] } : listed
  if (own === null) return known
  return {
    ...complete(own, known ?? unknownVideo),
    maxSeconds: own.maxSeconds ?? longest(own.seconds) ?? known?.maxSeconds ?? longest(known?.seconds)
  }
}

function longest (seconds: number[] | null = null): number | null {
  return seconds === null ? null : Math.max(...seconds)
}
