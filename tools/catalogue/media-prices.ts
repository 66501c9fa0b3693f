import type {
  CatalogueImagePrice, CatalogueRow, CatalogueVideoPrice
} from '../../services/config/catalogue/catalogue-file.ts'
import { exactNano } from './digits.ts'

type Fields = Readonly<Record<string, unknown>>
export type MediaPrices = Pick<CatalogueRow, 'videoPrices' | 'imagePrices'>

/** Sizes at 16:9 that stand for litellm's names of resolutions; smallest first. */
const sizes = {
  '480p': '854x480', '540p': '960x540', '720p': '1280x720', '768p': '1366x768', '1080p': '1920x1080', '2k': '2560x1440', '4k': '3840x2160'
} as const

/** Most pictures that a request for a video has: the first and the last frame. */
const maxFrames = 2

/**
 * The prices per second of a row of litellm, by size. A size without a price has the base price, at most that
 * of the next larger size; beyond the largest there is no price. A fee per picture is added as if every video
 * had two of them and took a second.
 */
export function videoPricesOf (fields: Fields): MediaPrices {
  const rate = (name: string) => exactNano(fields[name])
  const base = rate('output_cost_per_second') ?? rate('output_cost_per_video_per_second')
  if (base === undefined) return {}
  const framesNano = hasFreeFrames(fields) ? 0 : maxFrames * (rate('input_cost_per_image') ?? 0)
  const stated = Object.entries(sizes).map(([name, size]) => ({ size, nano: rate(`output_cost_per_second_${name}`) }))
  const largest = stated.findLastIndex(({ nano }) => nano !== undefined)
  if (largest === -1) return { videoPrices: [{ secondNano: base + framesNano }] }
  const priced = stated.slice(0, largest + 1)
  return {
    videoPrices: priced.map(({ size, nano }, index): CatalogueVideoPrice => {
      const larger = priced.slice(index).find(one => one.nano !== undefined)?.nano ?? base
      return { size, secondNano: (nano ?? Math.min(base, larger)) + framesNano }
    })
  }
}

function hasFreeFrames ({ provider_specific_entry: entry }: Fields): boolean {
  return Object(entry).minimax_free_input_images >= maxFrames
}

/** Models that fal bills by begun megapixels: the notes of litellm's rows; fal.ai/models, 24 Nov 2026. */
const byMegapixel = /^fal-ai\/(flux\/|flux-lora|flux-pro\/v1\.1$|flux-2|stable-diffusion)/

/** Sizes that stand for litellm's names of resolutions of images. */
const squares = { '0.5K': '512x512', '1K': '1024x1024', '2K': '2048x2048', '4K': '4096x4096' } as const

/**
 * The price per image of a row of litellm; `variants` are prices of one quality and size. The dearest applies
 * to what has no price of its own, and comes last.
 */
export function imagePricesOf (
  provider: string, name: string, fields: Fields, variants: readonly CatalogueImagePrice[]
): MediaPrices {
  const base = exactNano(fields.output_cost_per_image) ?? exactNano(fields.input_cost_per_image)
  const isByToken = 'input_cost_per_token' in fields
  if (base === undefined || isByToken) return {}
  const stated = [...variants, ...Object.entries(squares).flatMap(([suffix, size]) => {
    const imageNano = exactNano(fields[`output_cost_per_image_${suffix}`])
    return imageNano === undefined ? [] : [{ size, imageNano }]
  })]
  const dearest = Math.max(base, ...stated.map(({ imageNano }) => imageNano))
  const isByMegapixel = provider === 'fal' && byMegapixel.test(name)
  return {
    imagePrices: [
      // Elsewhere the quality, which the row does not name, changes the price too.
      ...provider === 'fal' ? stated : [],
      { imageNano: dearest, ...(isByMegapixel && { furtherMegapixelNano: dearest }) }
    ]
  }
}

/** Reads the price of one quality and size: `low/1024-x-1536/<model>`. Undefined for other names. */
export function imageVariant (
  name: string, fields: Fields
): { model: string, price: CatalogueImagePrice } | undefined {
  const [, quality, width, height, model] = /^([a-z]+)\/(\d+)-x-(\d+)\/(.+)$/.exec(name) ?? []
  const imageNano = exactNano(fields.output_cost_per_image)
  if (quality === undefined || model === undefined || imageNano === undefined) return undefined
  return { model, price: { size: `${width}x${height}`, quality, imageNano } }
}
