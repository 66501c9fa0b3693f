import { Type } from '@sinclair/typebox'
import { strict, share, type Parsed } from './fields.ts'

/** `usage`: by what requests are reported, and when a reported cost is suspicious. */
export const UsageBlock = Type.Object({
  tags: Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' }), {
    maxItems: 8,
    uniqueItems: true,
    default: [],
    description: 'Names of tags by which usage is reported. A request has their values in `metadata` or in the header ' +
      '`x-tollgate-tags`; all other metadata is not kept.',
    examples: [['project', 'team']]
  }),
  cost_tolerance: {
    ...share('By what share a cost that a provider reports may differ from the cost price, or without one from the ' +
      'charge, before the difference is logged and counted.'),
    default: 0.05
  }
}, { ...strict, default: {}, description: 'How usage is reported.' })

export type UsageSettings = Parsed<typeof UsageBlock>
