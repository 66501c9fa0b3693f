import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, ListOf, Nano, Paging, Usd } from './shared.ts'
import { MapOf, Nullable, StringEnum } from '../shared/combinators.ts'

export const suspenseStates = ['open', 'cleared', 'written_off'] as const
const State = StringEnum(suspenseStates)

/** A cost that no account was charged. An operator clears it or writes it off. */
export const SuspenseItem = Type.Object({
  object: Type.Literal('suspense_item'),
  /** The id of its ledger entry. */
  id: Type.String({ examples: ['entry_77'] }),
  at: Type.String(),
  state: StringEnum(suspenseStates, { examples: ['cleared'] }),
  /**
   * `over_hold`: the request cost more than was held for it. `late`: its hold had ended. `rejected`: the
   * database rejected the charge. `unverified`: the provider may charge for a failed job.
   */
  reason: Nullable(Type.String({ examples: ['over_hold'] })),
  account: Type.String(),
  key: Nullable(Type.String()),
  model: Nullable(Type.String()),
  provider: Nullable(Type.String()),
  /** The request or job. */
  ref: Nullable(Type.String({ examples: ['req_8c6eeccec17b47a800000005'] })),
  amount_usd: Usd,
  amount_nano: Nano,
  /** The tokens, images or seconds that the provider reported. */
  usage: Nullable(MapOf(Type.Number(), { examples: [{ prompt: 14, completion: 76 }] })),
  estimated: Type.Boolean(),
  /** The entry that closed it, with its actor, time and reason. */
  closing: Nullable(Type.Object({
    entry: Type.String(),
    at: Type.String(),
    actor: Nullable(Type.String()),
    reason: Nullable(Type.String())
  }, {
    examples: [{
      entry: 'entry_81',
      at: '2026-11-22T08:00:00.000Z',
      actor: 'key:5d2c8f0e41b7a963',
      reason: 'The provider has confirmed the cost'
    }]
  }))
})
export type SuspenseItem = Static<typeof SuspenseItem>

export const SuspenseList = ListOf(SuspenseItem)

/** Query of `GET /admin/suspense`. */
export const SuspenseQuery = Closed({
  ...Paging,
  state: Type.Optional(State),
  account: Type.Optional(Id)
})

/** Body of `POST /admin/suspense/:id/clear` and `…/write-off`. */
export const SuspenseClosing = Closed({ reason: Type.String({ minLength: 1, maxLength: 500 }) })
export type SuspenseClosing = Static<typeof SuspenseClosing>
