import { Option, type Command } from 'commander'
import { outcomeFilters, type LoggedRequestItem, type RequestWithEntries } from '../schemas/admin/requests.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { toTable } from '../services/operations/admin/format/table.ts'
import { getRequests, listRequests, type LoggedRequestFilter } from '../services/operations/admin/requests.ts'
import { parseStatus, parseTime, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `requests list`, the default of `requests`, and `requests show`. */
export function addRequestCommands (program: Command, session: Session): void {
  const requests = program.command('requests').description('find requests and their outcome')

  withPaging(withJson(requests.command('list', { isDefault: true })))
    .description('list requests, newest first')
    .option('--account <account>', 'only requests of this account')
    .option('--key <id>', 'only requests of this key')
    .option('--model <model>', 'only requests that this model served or that requested it')
    .option('--provider <id>', 'only requests for which this provider was called')
    .option('--failed-at <id>', 'only requests for which a call of this provider failed')
    .option('--status <status>', 'only requests with this status, e.g. 429 or 5xx', parseStatus)
    .addOption(new Option('--outcome <outcome>', 'only requests with this outcome').choices(outcomeFilters))
    .option('--from <time>', 'only requests that ended from this time on', parseTime)
    .option('--to <time>', 'only requests that ended before this time', parseTime)
    .action(async (options: JsonOption & LoggedRequestFilter) => {
      const { json, ...filter } = options
      await session.list({ json }, requestColumns, administration => listRequests(administration, filter))
    })

  withJson(requests.command('show <id>'))
    .description('show the requests with this x-request-id, their attempts and ledger entries')
    .action(async (id: string, options: JsonOption) =>
      await session.show(options, administration => getRequests(administration, id),
        ({ data }) => data.map(textOf).join('\n')))
}

const requestColumns: Column<LoggedRequestItem>[] = [
  { name: 'ended', cell: ({ ended_at: at }) => at },
  { name: 'id', cell: ({ id }) => id },
  { name: 'key', cell: ({ key }) => key },
  { name: 'model', cell: ({ model, model_asked: requested }) => model ?? requested ?? '' },
  { name: 'provider', cell: ({ provider }) => provider ?? '' },
  { name: 'status', numeric: true, cell: ({ status }) => String(status) },
  { name: 'outcome', cell: ({ outcome }) => outcome },
  { name: 'calls', numeric: true, cell: ({ attempt_count: count }) => String(count) },
  { name: 'tokens', numeric: true, cell: row => `${row.prompt_tokens}+${row.completion_tokens}` },
  { name: 'cost', numeric: true, cell: ({ cost_nano: nano }) => amountText(nano) },
  { name: 'first_ms', numeric: true, cell: ({ first_byte_ms: ms }) => ms === null ? '' : String(ms) },
  { name: 'total_ms', numeric: true, cell: ({ total_ms: ms }) => String(ms) },
  { name: 'error', cell: ({ error_code: code, provider_words: words }) => words ?? code ?? '' }
]

type Attempt = LoggedRequestItem['attempts'][number]

const attemptColumns: Column<Attempt>[] = [
  { name: 'attempt', cell: ({ provider, model }) => `${provider} ${model}` },
  { name: 'status', numeric: true, cell: ({ status }) => status === null ? '' : String(status) },
  { name: 'start_ms', numeric: true, cell: ({ started_ms: ms }) => String(ms) },
  { name: 'ms', numeric: true, cell: ({ duration_ms: ms }) => ms === null ? '' : String(ms) },
  { name: 'failure', cell: ({ failure, code }) => [failure, code].filter(text => text !== null).join(' ') },
  { name: 'words', cell: ({ words }) => words ?? '' }
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
