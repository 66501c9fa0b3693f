import { Type } from '@sinclair/typebox'
import { strict, share, type Parsed } from './fields.ts'

/** `usage`: the tags of reports, and the tolerance for reported costs. */
export const UsageBlock = Type.Object({
  tags: Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' }), {
    maxItems: 8,
    uniqueItems: true,
    default: [],
    description: 'Names of tags for usage reports. A request sends their values in `metadata` or in the header ' +
      '`x-tollgate-tags`; other metadata is not stored.',
    examples: [['project', 'team']]
  }),
  cost_tolerance: {
    ...share('Share by which a reported cost may differ from the configured `cost`, or from the charge ' +
      'if there is none, before it is logged and counted.'),
    default: 0.05
  }
}, { ...strict, default: {}, description: 'How usage is reported.' })

export type UsageSettings = Parsed<typeof UsageBlock>
