import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'

/** What an account has left and has spent so far, in USD. */
export const Billing = Type.Object({
  balance: Type.Number(),
  currency: Type.Literal('usd'),
  total_spent: Type.Number()
}, { additionalProperties: true })
export type Billing = Static<typeof Billing>
