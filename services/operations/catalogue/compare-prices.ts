import type {
  CatalogueImagePrice, CataloguePrice, CatalogueRow, CatalogueVideoPrice
} from '../../config/catalogue/catalogue-file.ts'
import { completed, dearest, rateNames, ratesAbove, type Cost } from '../../config/catalogue/dearest.ts'

type Prices = Pick<CatalogueRow, 'price' | 'tiers' | 'videoPrices' | 'imagePrices'>

/** How an update changes a row: `fallen` if one of its prices falls or goes; null if none changes. */
export function compareRows (before: CatalogueRow | undefined, after: CatalogueRow): 'added' | 'risen' | 'fallen' | null {
  if (before === undefined || !isPriced(before)) return before === undefined || isPriced(after) ? 'added' : null
  const compared = [...tokenRates(before, after), ...mediaRates(before, after)]
  if (compared.some(([old, next]) => next < old)) return 'fallen'
  return compared.some(([old, next]) => next > old) ? 'risen' : null
}

/** The prices of a row that must not fall: the dearer rates by the token, and the present ones of media. */
export function keptPrices (before: Prices, after: Prices): Prices {
  const { videoPrices = after.videoPrices, imagePrices = after.imagePrices } = before
  const costs = [before, after].filter(({ price }) => price !== undefined)
  return {
    ...(costs.length > 0 && dearest(costs.map(completed))),
    ...(videoPrices && { videoPrices }),
    ...(imagePrices && { imagePrices })
  }
}

function isPriced ({ price, videoPrices, imagePrices }: Prices): boolean {
  return price !== undefined || videoPrices !== undefined || imagePrices !== undefined
}

/** Each rate before and after, at every length at which either changes; -1 for a price that goes. */
function tokenRates (before: Cost, after: Cost): [number, number][] {
  if (before.price === undefined) return []
  const tiers = [before, after].flatMap(cost => cost.tiers ?? [])
  const lengths = [0, ...tiers.map(({ aboveTokens }) => aboveTokens)]
  return lengths.flatMap(length => {
    const [old, next] = [ratesAbove(before, length), ratesAbove(after, length)]
    if (old === undefined) return []
    return rateNames.map((name): [number, number] => [rateOf(old, name), next ? rateOf(next, name) : -1])
  })
}

/** A rate that is absent is that of other tokens. */
function rateOf (price: CataloguePrice, name: typeof rateNames[number]): number {
  const isOutput = name === 'outputPico' || name === 'audioOutputPico'
  return price[name] ?? (isOutput ? price.outputPico : price.inputPico)
}

/** Each price per second or image before and after; -1 for one that goes. */
function mediaRates (before: Prices, after: Prices): [number, number][] {
  const [old, next] = [before, after].map(one => new Map([
    ...one.videoPrices?.map(videoRate) ?? [], ...one.imagePrices?.flatMap(imageRates) ?? []
  ]))
  return [...old ?? []].map(([key, nano]) => [nano, next?.get(key) ?? -1])
}

function videoRate ({ size = '', audio, secondNano }: CatalogueVideoPrice): [string, number] {
  return [`second ${size} ${audio}`, secondNano]
}

function imageRates (
  { size = '', quality = '', imageNano, furtherMegapixelNano = 0 }: CatalogueImagePrice
): [string, number][] {
  return [[`image ${size} ${quality}`, imageNano], [`megapixel ${size} ${quality}`, furtherMegapixelNano]]
}
