import { AdminHoldList, HoldQuery } from '../../../../schemas/admin/holds.ts'
import { amounts, fields } from '../format/columns.ts'
import { listHolds } from '../holds.ts'
import { operation } from '../operation.ts'
import { toPageRequest } from '../query.ts'

/** The holds of an account. */
export const holdOperations = [
  operation('GET /holds', 'read', {
    ownAccount: 'query',
    summary: 'List the holds of an account for jobs and running requests',
    query: HoldQuery,
    result: AdminHoldList,
    run: (administration, { query }) =>
      listHolds(administration, { account: query.account, ...toPageRequest(query) }),
    command: {
      name: 'ledger holds <account>',
      description: 'list the holds of an account, newest first',
      columns: () => [...fields('created_at', 'kind'), ...amounts(['amount']), ...fields('job', 'model', 'node', 'expires_at')]
    }
  })
]
