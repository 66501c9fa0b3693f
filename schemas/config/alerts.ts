import { Type } from '@sinclair/typebox'
import { strict, usd, type Parsed } from './fields.ts'

const Webhook = Type.Object({
  url: Type.String({
    pattern: '^https?://',
    maxLength: 2_000,
    description: 'Where alerts are posted to. Private addresses and plain HTTP only if TOLLGATE_TRUSTED_ORIGINS has them.',
    examples: ['https://example.com/hooks/tollgate']
  }),
  secret: Type.String({
    pattern: '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$',
    description: 'Signs alerts as in Standard Webhooks: `whsec_` and 24 to 64 random bytes in base64.'
  })
}, { ...strict, description: 'The receiver of alerts. Default: none, and nothing is watched.' })

/** The block `alerts`. */
export const AlertsBlock = Type.Object({
  webhook: Type.Optional(Webhook),
  thresholds: Type.Array(Type.Integer({ minimum: 1, maximum: 1_000 }), {
    maxItems: 20,
    default: [50, 80, 100],
    description: 'At which percentages of a budget an alert is sent, once in each of its periods.'
  }),
  low_balance: Type.Optional(usd('account: a lower balance is reported, unless the account has a limit of its own'))
}, { ...strict, default: {}, description: 'Messages about budgets that are nearly used up, and about low balances.' })

/** Null for the webhook: nothing is watched. */
export type AlertSettings = Parsed<typeof AlertsBlock>
