import { AlertList, AlertQuery } from '../../../../schemas/admin/alerts.ts'
import { listAlerts } from '../alerts.ts'
import { fields, numbers } from '../format/columns.ts'
import { operation } from '../operation.ts'
import { toPageRequest } from '../query.ts'

/** The alerts sent to the webhook. */
export const alertOperations = [
  operation('GET /alerts', 'read', {
    summary: 'List alerts and the state of their delivery',
    query: AlertQuery,
    result: AlertList,
    run: (administration, { query }) => listAlerts(administration, toPageRequest(query)),
    command: {
      name: 'alerts',
      description: 'list the alerts about budgets and balances, newest first',
      columns: () => [
        ...fields('created_at', 'type'),
        { name: 'state', cell: ({ state }) => state.replace('_', ' ') },
        ...numbers('attempts'),
        { name: 'data', cell: ({ data }) => JSON.stringify(data) },
        ...fields('error')
      ]
    }
  })
]
