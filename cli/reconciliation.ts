import { Option, type Command } from 'commander'
import type { PageRequest } from '../services/operations/admin/page.ts'
import {
  listReconciliation, reconciliationColumns, reconciliationCsv, toReconciliationDimensions,
  type Reconciliation
} from '../services/operations/admin/reconciliation.ts'
import { parseReconciliationDimensions, parseShare, parseTime, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

type ReconciliationOptions = JsonOption & PageRequest & Reconciliation & { csv?: boolean }

const usualTolerance = 0.05

/** Adds `reconciliation`. */
export function addReconciliationCommand (program: Command, session: Session): void {
  withPaging(withJson(program.command('reconciliation')))
    .description('compare the costs that providers report with the configured costs, or else with the charges')
    .addOption(new Option('--by <dimensions>', 'account, model, provider, day, week, month, or several of them')
      .argParser(parseReconciliationDimensions).default(toReconciliationDimensions(), 'model,provider,day'))
    .option('--account <account>', 'only requests charged to this account or one below it')
    .option('--model <model>', 'only requests to this model')
    .option('--provider <id>', 'only requests to this provider')
    .option('--from <time>', 'only requests from this time on', parseTime)
    .option('--to <time>', 'only requests before this time', parseTime)
    .option('--tolerance <share>', 'by what share costs may differ, 0 to 1', parseShare, usualTolerance)
    .addOption(new Option('--csv', 'print all rows as CSV').conflicts(['json', 'limit', 'after']))
    .action(async ({ json, csv = false, limit, after, ...report }: ReconciliationOptions) => {
      if (csv) {
        return await session.administer(administration =>
          session.stream(reconciliationCsv(administration, report)))
      }
      await session.list({ json }, reconciliationColumns(report.by),
        administration => listReconciliation(administration, { ...report, limit, after }))
    })
}
