import type { ModelEntry } from '../../../schemas/config/config.ts'
import type { Entry } from '../validate/check-structure.ts'
import type { ImageAbilities, ImagePrice, SizeRange } from '../../catalogue/types.ts'
import { readNano } from './prices.ts'
import type { YamlDocument } from '../yaml/document.ts'

/**
 * What the file says an image model can do, over what the catalogue knows, field by field; nothing where
 * neither says anything. What words cost in the catalogue is nothing beside a price of the file's own.
 */
export function readImages (
  { item, path }: Entry<ModelEntry>, known: ImageAbilities | undefined, document: YamlDocument
): { images?: ImageAbilities } {
  const { images: said, price } = item
  if (said === undefined && known === undefined) return {}
  if (said === undefined && price === undefined) return { images: known }
  const hasOwnSizes = said?.sizes !== undefined || said?.size_range !== undefined
  return {
    images: {
      sizes: hasOwnSizes ? said.sizes ?? null : known?.sizes ?? null,
      sizeRange: hasOwnSizes ? toRange(said.size_range) : known?.sizeRange ?? null,
      defaultSize: said?.default_size ?? (hasOwnSizes ? said.sizes?.[0] : known?.defaultSize) ?? null,
      qualities: said?.qualities ?? known?.qualities ?? null,
      prices: (said?.prices ?? []).map((row, index) => readRow(row, [...path, 'images', 'prices', index], document)),
      tokens: said?.tokens === undefined
        ? known?.tokens ?? []
        : [{ size: null, quality: null, tokens: said.tokens }],
      textOutputPico: price === undefined ? known?.textOutputPico ?? null : null
    }
  }
}

type Said = NonNullable<ModelEntry['images']>

function toRange (range: Said['size_range']): SizeRange | null {
  if (range === undefined) return null
  const { min = 1, max = 65_536, multiple_of: multipleOf = 1, max_ratio: maxRatio = 100 } = range
  return { min, max, multipleOf, maxRatio, maxPixels: range.max_pixels ?? max * max }
}

function readRow (
  { size, quality }: NonNullable<Said['prices']>[number], path: Entry<ModelEntry>['path'], document: YamlDocument
): ImagePrice {
  return {
    size: size ?? null,
    quality: quality ?? null,
    // Null was reported; nothing is served by a file with a mistake.
    imageNano: readNano(document, [...path, 'image']) ?? 0,
    furtherMegapixelNano: readNano(document, [...path, 'further_megapixel']) ?? 0
  }
}
