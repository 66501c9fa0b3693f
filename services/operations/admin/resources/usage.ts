import { UsageList, UsageQuery } from '../../../../schemas/admin/usage.ts'
import { withinRange } from '../amounts.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest, toPeriod } from '../query.ts'
import { clientUsageCsv, listUsage, toDimensions, usageColumns, usageCsv, type UsageReport } from '../usage.ts'

/** Usage and its cost. */
export const usageOperations = [
  operation('GET /usage', 'read', {
    ownAccount: 'query',
    summary: 'Report usage and its cost',
    query: UsageQuery,
    result: UsageList,
    run: (administration, { query }) =>
      listUsage(administration, { ...toReport(query), ...toPageRequest(query) }),
    csv: {
      name: () => 'usage',
      rows: (administration, query) => administration.actor.account === null
        ? usageCsv(administration, toReport(query))
        : clientUsageCsv(administration.store, toReport(query))
    },
    command: {
      name: 'usage',
      description: 'report usage in US dollars and tokens, with available provider costs and margins',
      options: {
        by: option('--by <dimensions>', 'how to group the rows: account, key, label, model, provider, day, week, month, ' +
          'estimated, tag:<name>, or several of them', { as: 'dimensions', default: 'key,model,day' }),
        account: option('--account <account>', 'only requests charged to this account or one below it'),
        key: option('--key <id>', 'only requests of this key'),
        label: option('--label <label>', 'only requests of keys with this label'),
        model: option('--model <model>', 'only requests to this model'),
        provider: option('--provider <id>', 'only requests to this provider'),
        tag: option('--tag <name=value>', 'only requests with this tag', { as: 'tag' }),
        estimated: option('--estimated', 'only requests that were charged by an estimate'),
        children: option('--children', 'by account: also count requests for the accounts above the payer'),
        from: option('--from <time>', 'only requests from this time on', { as: 'time' }),
        to: option('--to <time>', 'only requests before this time', { as: 'time' })
      },
      columns: ({ by }) => usageColumns(toDimensions(by))
    }
  })
]

/** Throws GatewayError 400. */
function toReport (query: UsageQuery): UsageReport {
  const { by, children, estimated, tag, account, key, label, model, provider } = query
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(tag ?? '') ?? []
  return {
    by: withinRange('by', () => toDimensions(by)),
    ...toPeriod(query),
    children: children === 'true',
    account,
    key,
    label,
    model,
    provider,
    estimated: estimated === undefined ? undefined : estimated === 'true',
    tag: tag === undefined ? undefined : { name, value }
  }
}
