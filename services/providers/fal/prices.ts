import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { createJsonClient, type JsonClient } from '../image-api/json-client.ts'
import type { ProviderParts, StatedModel, Upstream } from '../provider.ts'
import { nanoDecimals, statedUsd } from '../stated-price.ts'
import { declaredImages, imageFieldsOf } from './image-fields.ts'
import { declaredVideos, fieldsOf } from './model-fields.ts'

/** Most models of one request. */
const maxIds = 50

/**
 * The prices that fal states. One price cannot cover a choice of resolutions, qualities or sound, so only
 * models without a choice get theirs. Source: fal.ai/docs/platform-apis/v1/models/pricing, 28 Nov 2026.
 */
export const createFalPrices: NonNullable<ProviderParts['prices']> = upstream => {
  const platform = upstream.at(platformUrl(upstream))
  const client = createJsonClient(platform, { auth: apiKey => ({ authorization: `Key ${apiKey}` }) })
  let stated: ReadonlyMap<string, StatedModel> = new Map()
  return {
    statedOf: model => stated.get(model),
    /** Reads the prices, and no names: fal has more models than those that are declared. */
    async models (signal) {
      const videos = new Set(declaredVideos().filter(hasOneVideoPrice))
      const names = [...videos, ...declaredImages().filter(hasOneImagePrice)]
      const groups = Array.from({ length: Math.ceil(names.length / maxIds) }, (_, at) => {
        return names.slice(at * maxIds, (at + 1) * maxIds)
      })
      const found = await Promise.all(groups.map(group => rowsOf(group, client, signal)))
      stated = new Map(found.flat().flatMap(({ name, row }): [string, StatedModel][] => {
        const model = videos.has(name) ? statedVideo(name, row) : statedImage(name, row)
        return model === undefined ? [] : [[name, model]]
      }))
      return []
    }
  }
}

function platformUrl ({ baseUrl }: Upstream): string {
  return baseUrl.replace('https://queue.fal.run', 'https://api.fal.ai/v1')
}

function hasOneVideoPrice (name: string): boolean {
  const { fixed, resolutions, sound } = fieldsOf(name)
  return (fixed !== null || resolutions.length <= 1) && (sound === 'never' || sound === 'always')
}

function hasOneImagePrice (name: string): boolean {
  const { resolutions, quality } = imageFieldsOf(name)
  return resolutions.length === 0 && !quality
}

/** The rows of a list of prices that are for one of `names`. */
async function rowsOf (
  names: readonly string[], client: JsonClient, signal: AbortSignal
): Promise<{ name: string, row: JsonObject }[]> {
  const query = names.map(encodeURIComponent).join(',')
  const { prices } = await client.get(`/models/pricing?endpoint_id=${query}`, signal)
  return (Array.isArray(prices) ? prices.filter(isObject) : []).flatMap(row => {
    const { endpoint_id: name } = row
    return isText(name) && names.includes(name) ? [{ name, row }] : []
  })
}

function statedVideo (name: string, row: JsonObject): StatedModel | undefined {
  const { lengths, seconds } = fieldsOf(name)
  const nano = nanoOf(row)
  if (nano === undefined) return undefined
  // A price per video is one per second if there is only one length.
  const isWhole = /^videos?$/.test(String(row.unit)) && lengths?.length === 1
  const perSecond = isWhole ? Math.ceil(nano / seconds) : nano
  if (!isWhole && !/^seconds?$/.test(String(row.unit))) return undefined
  return { kind: 'video', video: { prices: [{ size: null, audio: null, secondNano: perSecond }] } }
}

function statedImage (name: string, row: JsonObject): StatedModel | undefined {
  const imageNano = nanoOf(row)
  if (imageNano === undefined || !/^(images?|megapixels?)$/.test(String(row.unit))) return undefined
  // Of a model that makes any size, larger images may cost more.
  const isFree = imageFieldsOf(name).size === 'sides'
  const price = { size: null, quality: null, imageNano, furtherMegapixelNano: isFree ? imageNano : 0 }
  return { kind: 'image', images: { ...(isFree && { defaultSize: '1024x1024' }), prices: [price] } }
}

function nanoOf ({ unit_price: price, currency }: JsonObject): number | undefined {
  return currency === 'USD' ? statedUsd(price, nanoDecimals) : undefined
}
