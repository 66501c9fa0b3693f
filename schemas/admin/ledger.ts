import { Type, type Static } from '@sinclair/typebox'
import { Nullable } from '../shared/combinators.ts'

const Found = Nullable(Type.Unsafe<string | number>({ type: ['string', 'number'] }))

/** What the check of the books has found; `ok` when there is no violation. */
export const LedgerCheck = Type.Object({
  object: Type.Literal('ledger_check'),
  ok: Type.Boolean(),
  checked_entries: Type.Integer({ examples: [48_213] }),
  violations: Type.Array(Type.Object({
    rule: Type.String(),
    subject: Type.String(),
    expected: Found,
    found: Found,
    meaning: Type.String(),
    advice: Type.String()
  }), { examples: [[]] })
})
export type LedgerCheck = Static<typeof LedgerCheck>
