import { Type } from '@sinclair/typebox'
import { strict, usd, type Parsed } from './fields.ts'

const Webhook = Type.Object({
  url: Type.String({
    pattern: '^https?://',
    maxLength: 2_000,
    description: 'The URL to post alerts to. Private addresses and plain HTTP must be listed in TOLLGATE_TRUSTED_ORIGINS.',
    examples: ['https://example.com/hooks/tollgate']
  }),
  secret: Type.String({
    pattern: '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$',
    description: 'Signs alerts as in Standard Webhooks: `whsec_` and 24 to 64 random bytes in base64.'
  })
}, { ...strict, description: 'The receiver of alerts. Default: none, so no alerts.' })

/** The block `alerts`. */
export const AlertsBlock = Type.Object({
  webhook: Type.Optional(Webhook),
  thresholds: Type.Array(Type.Integer({ minimum: 1, maximum: 1_000 }), {
    maxItems: 20,
    default: [50, 80, 100],
    description: 'Percentages of a budget that raise an alert, once per budget period.'
  }),
  low_balance: Type.Optional(usd('account: lower balances raise an alert, unless the account has its own limit'))
}, { ...strict, default: {}, description: 'Alerts about budgets that are nearly used up and low balances.' })

/** Without a webhook (null), nothing is watched. */
export type AlertSettings = Parsed<typeof AlertsBlock>
