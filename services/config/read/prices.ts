import type { Parsed } from '../../../schemas/config/fields.ts'
import type { PriceEntry } from '../../../schemas/config/models.ts'
import type { Price } from '../../catalogue/types.ts'
import { complete } from './complete.ts'

/** Completes a price of the file, field by field, with a known one. */
export function readPrice ({ tiers, ...own }: Parsed<typeof PriceEntry>, known: Price | null): Price {
  const ownTiers = tiers?.map(({ above, ...prices }) => ({ aboveTokens: above, ...prices }))
    .toSorted((one, other) => one.aboveTokens - other.aboveTokens)
  // Known tiers belong to the known prices of tokens, not to the file's.
  const hasOwnPrices = own.inputPico !== null || own.outputPico !== null
  return { ...complete(own, known ?? {}), tiers: ownTiers ?? (hasOwnPrices ? null : known?.tiers ?? null) }
}
