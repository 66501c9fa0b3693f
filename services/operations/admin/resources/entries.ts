import { EntryList, EntryQuery } from '../../../../schemas/admin/entries.ts'
import { entriesCsv, listEntries } from '../entries.ts'
import { amounts, fields } from '../format/columns.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest, toPeriod } from '../query.ts'

/** The lines of the books. */
export const entryOperations = [
  operation('GET /entries', 'read', {
    ownAccount: 'query',
    summary: 'List the lines of the books',
    query: EntryQuery,
    result: EntryList,
    run: (administration, { query }) =>
      listEntries(administration, { ...query, ...toPeriod(query), ...toPageRequest(query) }),
    csv: {
      name: () => 'entries',
      rows: (administration, query) => entriesCsv(administration, { ...query, ...toPeriod(query) })
    },
    command: {
      name: 'ledger entries',
      description: 'list entries, newest first',
      options: {
        account: option('--account <account>', 'only entries of this account'),
        kind: option('--kind <kind>', 'only entries of this kind'),
        from: option('--from <time>', 'only entries from this time on', { as: 'time' }),
        to: option('--to <time>', 'only entries before this time', { as: 'time' }),
        month: option('--month <month>', 'only entries of this month (UTC), e.g. 2026-10')
      },
      columns: () => [
        ...fields('at', 'kind', 'debit', 'credit'),
        ...amounts(['amount']),
        ...fields('model', 'id'),
        { name: 'note', cell: ({ reason, reverses }) => reason ?? reverses ?? '' }
      ]
    }
  })
]
