import { Option, type Command } from 'commander'
import type { PageRequest } from '../services/operations/admin/page.ts'
import { listUsage, toDimensions, usageColumns, usageCsv, type UsageReport } from '../services/operations/admin/usage.ts'
import { parseTag, parseTime, parseUsageDimensions, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

type UsageOptions = JsonOption & PageRequest & UsageReport & { csv?: boolean }

const byHelp = 'how to group the rows: account, key, label, model, provider, day, week, month, estimated, tag:<name>, ' +
  'or several of them'

/** Adds `usage`. */
export function addUsageCommand (program: Command, session: Session): void {
  withPaging(withJson(program.command('usage')))
    .description('report usage in US dollars and tokens, with available provider costs and margins')
    .addOption(new Option('--by <dimensions>', byHelp).argParser(parseUsageDimensions)
      .default(toDimensions(), 'key,model,day'))
    .option('--account <account>', 'only requests charged to this account or one below it')
    .option('--key <id>', 'only requests of this key')
    .option('--label <label>', 'only requests of keys with this label')
    .option('--model <model>', 'only requests to this model')
    .option('--provider <id>', 'only requests to this provider')
    .option('--tag <name=value>', 'only requests with this tag', parseTag)
    .option('--estimated', 'only requests that were charged by an estimate')
    .option('--children', 'by account: also count requests for the accounts above the payer')
    .option('--from <time>', 'only requests from this time on', parseTime)
    .option('--to <time>', 'only requests before this time', parseTime)
    .addOption(new Option('--csv', 'print all rows as CSV').conflicts(['json', 'limit', 'after']))
    .action(async ({ json, csv = false, limit, after, ...filter }: UsageOptions) => {
      if (csv) {
        return await session.administer(administration => session.stream(usageCsv(administration, filter)))
      }
      await session.list({ json }, usageColumns(filter.by),
        administration => listUsage(administration, { ...filter, limit, after }))
    })
}
