import { Type } from '@sinclair/typebox'
import { flag, strict, type Parsed } from './fields.ts'

/** `catalogue`: where newer prices and windows come from. */
export const CatalogueBlock = Type.Object({
  url: Type.Optional(Type.String({
    pattern: '^https?://',
    maxLength: 2048,
    description: 'A catalogue in the form of models.json, with its SHA-256 at the same URL with `.sha256`. It is read ' +
      'once a day, and applied on all nodes without a restart.',
    examples: ['https://prices.example.com/models.json']
  })),
  lower_prices: flag('Whether a refresh may lower a price. By default such a model keeps its dearer rates, and is ' +
    'named in the log and the audit log.', false)
}, { ...strict, default: {}, description: 'How the catalogue of models is refreshed.' })

export type CatalogueSettings = Parsed<typeof CatalogueBlock>
