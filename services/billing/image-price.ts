import type { ImageAbilities, ModelConfig, Price } from '../config/catalogue/types.ts'
import { notPriced } from './token-price.ts'
import { nanoFromPico } from '../shared/money.ts'
import type { Charge, Quote } from './charge.ts'
import type { GeneratedImages, ImageUsage, ImageOptions } from '../providers/provider-image.ts'
import { sizeText } from '../providers/provider-image.ts'
import { imagesCostNano } from './provider-cost.ts'

/** An answer of a provider, and how many of its images reach the client. */
export interface DeliveredImages { answer: GeneratedImages, delivered: number }

/** `maxNano` is exact where the price is per image. */
export interface ImageQuote extends Quote<DeliveredImages> {
  chargeFor (images: DeliveredImages, cost?: Price | null): Charge
}

interface ImageOrder {
  model: Pick<ModelConfig, 'id' | 'price' | 'images'>
  wanted: ImageOptions
  prompt: string
  /** Whether images have taken more tokens than was held, so that the figures of the model are doubtful. */
  exceedsTokens?: boolean
}

/** Tokens a provider may put around a prompt. */
const framingTokens = 64
/** Tokens of one image of an unknown model: a large one of the best quality. */
const unknownTokens = 8192
/** Tokens of thoughts and words that may come with an image, where these have a price of their own. */
const wordsTokens = 4096

/** Prices a request for images. Throws GatewayError 400 for a model without a price. */
export function quoteImages (order: ImageOrder): ImageQuote {
  const perImageNano = imagePriceNano(order)
  const { maxNano, chargeFor } = perImageNano === null
    ? quoteByTokens(order)
    : quoteByImage(perImageNano, order.wanted.count)
  return { maxNano, chargeFor: (images, cost = null) => withCosts(chargeFor(images), images, cost) }
}

function withCosts (charge: Charge, { answer: response }: DeliveredImages, cost: Price | null): Charge {
  const costNano = imagesCostNano(cost, response)
  if (costNano !== undefined) charge.costNano = costNano
  if (response.costNano !== null) charge.reportedNano = response.costNano
  return charge
}

function quoteByImage (perImageNano: number, count: number): ImageQuote {
  return {
    maxNano: Math.min(perImageNano * count, Number.MAX_SAFE_INTEGER),
    chargeFor: ({ answer: { usage }, delivered }) => ({
      amountNano: Math.min(perImageNano * delivered, Number.MAX_SAFE_INTEGER),
      usage: { images: delivered, ...countsOf(usage) },
      estimated: false
    })
  }
}

/** Nano-USD per image; null where the model is not priced so. */
function imagePriceNano ({ model: { price, images }, wanted }: ImageOrder): number | null {
  const row = fitting(images?.prices ?? [], wanted)
  if (row === undefined) return price?.imageNano ?? null
  const furtherMegapixels = Math.max(0, megapixelsBegun(wanted) - 1)
  return row.imageNano + furtherMegapixels * row.furtherMegapixelNano
}

/** Tokens of text are never more than its UTF-8 bytes; who makes one at a time reads the prompt for each. */
function quoteByTokens (
  { model: { id, price, images }, wanted, prompt, exceedsTokens = false }: ImageOrder
): ImageQuote {
  if (price === null || price.inputPico === null || price.outputPico === null) throw notPriced(id, 'images')
  const { inputPico, outputPico } = price
  const textOutputPico = images?.textOutputPico ?? outputPico
  const worst: ImageUsage = {
    inputText: Buffer.byteLength(prompt) + framingTokens,
    inputImage: 0,
    output: Math.max(tokensOf(images, wanted), exceedsTokens ? unknownTokens : 0),
    outputText: images?.textOutputPico == null ? 0 : wordsTokens
  }
  const costNano = ({ inputText, inputImage, output, outputText }: ImageUsage, times: number): number => {
    const pico = (inputText + inputImage) * inputPico + output * outputPico + outputText * textOutputPico
    return nanoFromPico(pico * times)
  }
  return {
    maxNano: costNano(worst, wanted.count),
    chargeFor ({ answer: { usage, costNano: reportedNano, images: made }, delivered }) {
      const share = (nano: number): number =>
        delivered === made.length ? nano : Math.ceil(nano * delivered / made.length)
      const counts = { images: delivered, ...countsOf(usage) }
      const knownNano = usage === null ? reportedNano : costNano(usage, 1)
      if (knownNano !== null) return { amountNano: share(knownNano), usage: counts, estimated: false }
      const estimate = { ...worst, outputText: 0 }
      const booked = { ...counts, ...countsOf(estimate) }
      return { amountNano: costNano(estimate, delivered), usage: booked, estimated: true }
    }
  }
}

function tokensOf (images: ImageAbilities | undefined, wanted: ImageOptions): number {
  const { tokens } = fitting(images?.tokens ?? [], wanted) ?? { tokens: unknownTokens }
  // Known are those of the usual sizes; what a model with free choice of size makes beyond grows with it.
  return images?.sizeRange == null ? tokens : tokens * Math.max(1, megapixelsBegun(wanted) - 1)
}

/** The first row that is for what is wanted; a choice left to the provider fits only a row for any. */
function fitting<Row extends { size: string | null, quality: string | null }> (
  rows: readonly Row[], { size, quality }: ImageOptions
): Row | undefined {
  const wantedSize = size === null ? null : sizeText(size)
  return rows.find(row => (row.size === null || row.size === wantedSize) &&
    (row.quality === null || row.quality === quality))
}

/** A megapixel is 1024 × 1024 pixels; a size that is left to the provider is one of the usual ones. */
function megapixelsBegun ({ size }: ImageOptions): number {
  return size === null ? usualMegapixels : Math.ceil(size.width * size.height / (1024 * 1024))
}

const usualMegapixels = 2

function countsOf (usage: ImageUsage | null): Record<string, number> {
  if (usage === null) return {}
  return { prompt: usage.inputText + usage.inputImage, completion: usage.output + usage.outputText }
}
