import { Option } from 'commander'
import type { Command } from 'commander'
import type { PageRequest } from '../services/admin/page.ts'
import { listUsage, toDimensions, usageColumns, usageCsv } from '../services/admin/usage.ts'
import type { UsageFilter } from '../services/admin/usage.ts'
import { toDimensionList, toInstant, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

type UsageOptions = JsonOption & PageRequest & UsageFilter & { csv?: boolean }

/** Adds `usage`. */
export function addUsageCommand (program: Command, session: Session): void {
  withPaging(withJson(program.command('usage')))
    .description('sum up what was used, in US dollars and tokens')
    .option('--by <dimensions>', 'key, model and day, or some of them', toDimensionList, toDimensions())
    .option('--account <account>', 'only what this account paid for')
    .option('--key <id>', 'only requests of this key')
    .option('--model <model>', 'only requests to this model')
    .option('--from <time>', 'from this time on', toInstant)
    .option('--to <time>', 'before this time', toInstant)
    .addOption(new Option('--csv', 'print every row as CSV').conflicts(['json', 'limit', 'after']))
    .action(async ({ json, csv = false, limit, after, ...filter }: UsageOptions) => {
      if (csv) {
        return await session.administer(async (administration) =>
          await session.stream(usageCsv(administration, filter)))
      }
      const page = await session.administer(async (administration) =>
        await listUsage(administration, { ...filter, limit, after }))
      session.printPage({ json }, page, usageColumns(filter.by))
    })
}
