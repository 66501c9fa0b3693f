import {
  LoggedRequestList, LoggedRequestQuery, RequestTotalsList, RequestTotalsQuery, RequestWithEntriesList,
  type LoggedRequestItem, type RequestWithEntries
} from '../../../../schemas/admin/requests.ts'
import { Closed, Paging } from '../../../../schemas/admin/shared.ts'
import { amountText } from '../amounts.ts'
import { amounts, fields, numbers, type Column } from '../format/columns.ts'
import { toTable } from '../format/table.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest, toPeriod } from '../query.ts'
import { getRequests, listRequests, listRequestTotals, toRequestDimensions } from '../requests.ts'

/** The request log. */
export const requestOperations = [
  operation('GET /requests', 'read', {
    ownAccount: 'query',
    summary: 'List requests, newest first',
    query: LoggedRequestQuery,
    result: LoggedRequestList,
    async run (administration, { query: { failed_at: failedAt, ...query } }) {
      await administration.host.flushRequestLog()
      const filter = { ...query, ...toPeriod(query), ...toPageRequest(query) }
      return await listRequests(administration, { ...filter, failedAt })
    },
    command: {
      name: 'requests list',
      isDefault: true,
      description: 'list requests, newest first',
      options: {
        account: option('--account <account>', 'only requests of this account'),
        key: option('--key <id>', 'only requests of this key'),
        model: option('--model <model>', 'only requests that this model served or that requested it'),
        provider: option('--provider <id>', 'only requests for which this provider was called'),
        failed_at: option('--failed-at <id>', 'only requests for which a call of this provider failed'),
        status: option('--status <status>', 'only requests with this status, e.g. 429 or 5xx', { as: 'status' }),
        outcome: option('--outcome <outcome>', 'only requests with this outcome'),
        from: option('--from <time>', 'only requests that ended from this time on', { as: 'time' }),
        to: option('--to <time>', 'only requests that ended before this time', { as: 'time' })
      },
      columns: () => [
        { name: 'ended', cell: ({ ended_at: at }) => at },
        ...fields('id', 'key'),
        { name: 'model', cell: ({ model, model_asked: requested }) => model ?? requested ?? '' },
        ...fields('provider'),
        ...numbers('status'),
        ...fields('outcome'),
        { name: 'calls', numeric: true, cell: ({ attempt_count: count }) => String(count) },
        { name: 'tokens', numeric: true, cell: row => `${row.prompt_tokens}+${row.completion_tokens}` },
        ...amounts(['cost']),
        { name: 'first_ms', numeric: true, cell: ({ first_byte_ms: ms }) => String(ms ?? '') },
        ...numbers('total_ms'),
        { name: 'error', cell: ({ error_code: code, provider_words: words }) => words ?? code ?? '' }
      ]
    }
  }),
  operation('GET /requests/:id', 'read', {
    ownAccount: 'handler',
    summary: 'Show the requests with this x-request-id and their ledger entries',
    query: Closed(Paging),
    result: RequestWithEntriesList,
    async run (administration, { id, query }) {
      await administration.host.flushRequestLog()
      return await getRequests(administration, id, toPageRequest(query))
    },
    command: {
      name: 'requests show <id>',
      description: 'show the requests with this x-request-id, their attempts and ledger entries',
      text: ({ data }) => data.map(textOf).join('\n')
    }
  }),
  operation('GET /request-totals', 'read', {
    ownAccount: 'query',
    summary: 'Total latencies, errors, tokens and cost by key, model and day',
    query: RequestTotalsQuery,
    result: RequestTotalsList,
    async run ({ store, host }, { query: { by, ...query } }) {
      await host.flushRequestLog()
      const filter = { ...query, ...toPeriod(query), ...toPageRequest(query) }
      return await listRequestTotals(store, { ...filter, by: toRequestDimensions(by) })
    }
  })
]

const attemptColumns: Column<LoggedRequestItem['attempts'][number]>[] = [
  { name: 'attempt', cell: ({ provider, model }) => `${provider} ${model}` },
  ...numbers('status'),
  { name: 'start_ms', numeric: true, cell: ({ started_ms: ms }) => String(ms) },
  { name: 'ms', numeric: true, cell: ({ duration_ms: ms }) => String(ms ?? '') },
  { name: 'failure', cell: ({ failure, code }) => [failure, code].filter(text => text !== null).join(' ') },
  ...fields('words')
]

const fieldColumns: Column<[string, unknown]>[] = [
  { name: 'field', cell: ([name]) => name.replaceAll('_', ' ') },
  { name: 'value', cell: ([, value]) => String(value) }
]

function textOf (request: RequestWithEntries): string {
  const { object: _, attempts, entries, held_usd: _held, cost_usd: _cost, ...fields } = request
  const { held_nano: held, cost_nano: cost, ...plain } = fields
  const shown = Object.entries({
    ...plain,
    held: held === null ? null : amountText(held),
    cost: amountText(cost),
    entries: entries.map(({ id, kind, amount_nano: nano }) => `${id} (${kind}, ${amountText(nano)})`).join(', ')
  }).filter(([, value]) => value !== null && value !== '')
  return toTable(fieldColumns, shown) + (attempts.length === 0 ? '' : `\n${toTable(attemptColumns, attempts)}`)
}
