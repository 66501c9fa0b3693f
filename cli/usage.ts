import { Option, type Command } from 'commander'
import type { PageRequest } from '../services/admin/page.ts'
import { listUsage, toDimensions, usageColumns, usageCsv, type UsageFilter } from '../services/admin/usage.ts'
import { parseDimensions, parseTime, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

type UsageOptions = JsonOption & PageRequest & UsageFilter & { csv?: boolean }

/** Adds `usage`. */
export function addUsageCommand (program: Command, session: Session): void {
  withPaging(withJson(program.command('usage')))
    .description('report usage in US dollars and tokens')
    .addOption(new Option('--by <dimensions>', 'how to group the rows: key, model, day, or several of them')
      .argParser(parseDimensions).default(toDimensions(), 'key,model,day'))
    .option('--account <account>', 'only requests charged to this account')
    .option('--key <id>', 'only requests of this key')
    .option('--model <model>', 'only requests to this model')
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
