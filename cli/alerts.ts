import type { Command } from 'commander'
import type { Alert } from '../schemas/admin/alerts.ts'
import { listAlerts } from '../services/operations/admin/alerts.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import type { PageRequest } from '../services/operations/admin/page.ts'
import { withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `alerts`. */
export function addAlertsCommand (program: Command, session: Session): void {
  withPaging(withJson(program.command('alerts')))
    .description('list the alerts about budgets and balances, newest first')
    .action(async (options: JsonOption & PageRequest) =>
      await session.list(options, columns, administration => listAlerts(administration, options)))
}

const columns: Column<Alert>[] = [
  { name: 'created_at', cell: ({ created_at: at }) => at },
  { name: 'type', cell: ({ type }) => type },
  { name: 'state', cell: ({ state }) => state.replace('_', ' ') },
  { name: 'attempts', numeric: true, cell: ({ attempts }) => String(attempts) },
  { name: 'data', cell: ({ data }) => JSON.stringify(data) },
  { name: 'error', cell: ({ error }) => error ?? '' }
]
