import type { Static } from '@sinclair/typebox'
import type { Entry, EntryQuery } from '../../../schemas/admin/entries.ts'
import type { LedgerCheck } from '../../../schemas/admin/ledger.ts'
import { gatewayActor } from '../../store/audit.ts'
import { checkBooks } from '../../billing/ledger/check/check-books.ts'
import { explanations } from '../../billing/ledger/check/explanations.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isoTime } from '../../shared/iso-time.ts'
import { monthAt, readMonth } from '../../billing/ledger/books/months.ts'
import { readUsageText } from '../../billing/ledger/types.ts'
import { entryId, entryIdSql, whereEntryId } from '../../billing/ledger/entry-id.ts'
import { rollUpViolations } from '../reports/check-roll-up.ts'
import type { Value } from '../../store/store.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { entriesSql } from './entry-query.ts'
import { amounts, fields, type Column } from './format/columns.ts'
import { toCsv } from './format/csv.ts'
import { withoutOthers } from './own-account.ts'
import { allPages, readPage, type Page, type ListRequest, type TimeRange } from './page.ts'

/** The account's entries include those of accounts below it. */
export type EntryRequest = ListRequest<Static<typeof EntryQuery>>

/**
 * Lists ledger entries, newest first; for a user, only those of their account. Throws GatewayError 400 for a
 * wrong page.
 */
export async function listEntries (
  { store, flush, actor: { account: own } }: Administration, request: EntryRequest = {}
): Promise<Page<Entry>> {
  const { account, kind } = request
  const { from, to } = periodOf(request)
  await flush()
  return await readPage(request, {
    example: [0],
    async read (after, limit) {
      const params: Value[] = []
      const selection = { account, isOwn: own !== null, kind, from, to, before: after?.[0], limit }
      return await store.reports.all<EntryRow>(entriesSql(store.engine, columns, selection, params), params)
    },
    toItem: ({ movedNano, ...row }) => {
      const change = account === undefined ? null : changeFields(row, movedNano)
      const entry = { ...toEntry(row), ...change }
      return own === null ? entry : withoutOthers(entry, own)
    },
    cursorOf: ({ seq }) => [seq]
  })
}

/** The time of a request; of a month, the part that is within its range. Throws GatewayError 400. */
function periodOf ({ from, to, month }: EntryRequest): TimeRange {
  if (month === undefined) return { from, to }
  const { startsAt, endsAt } = readMonth(month)
  return { from: Math.max(startsAt, from ?? startsAt), to: Math.min(endsAt, to ?? endsAt) }
}

/** Lists all entries of a request as CSV, newest first. */
export async function * entriesCsv (
  administration: Administration, request: Omit<EntryRequest, 'limit' | 'after'>
): AsyncGenerator<string, void, undefined> {
  const isUser = administration.actor.account !== null
  const columns = isUser ? csvColumns.filter(({ name }) => name !== 'actor') : csvColumns
  yield * toCsv(columns, allPages(page => listEntries(administration, { ...request, ...page })))
}

const csvColumns: Column<Entry>[] = [
  ...fields('id', 'at', 'month', 'kind', 'debit', 'credit'),
  ...amounts(['amount', 'change'], '_usd'),
  ...fields('key', 'model', 'provider', 'ref'),
  { name: 'estimated', cell: ({ estimated }) => estimated ? 'yes' : '' },
  ...fields('reverses', 'reason', 'actor')
]

/** Returns one ledger entry. Throws GatewayError 404. */
export async function getEntry ({ store }: Administration, id: string): Promise<Entry> {
  const { condition, params } = whereEntryId(id)
  const row = await store.get<StoredEntry>(`select ${columns} from entry where ${condition}`, params)
  if (row !== undefined) return toEntry(row)
  throw new GatewayError(404, 'invalid_request_error', `The entry \`${id}\` does not exist.`,
    { code: 'entry_not_found' })
}

/** Checks the consistency of the ledger, and repairs nothing. Throws StoreUnavailable. */
export async function runLedgerCheck ({ store, flush }: Administration): Promise<LedgerCheck> {
  await flush()
  const { violations, entries } = await checkBooks(store, { derived: rollUpViolations })
  return {
    object: 'ledger_check',
    ok: violations.length === 0,
    checked_entries: entries,
    violations: violations.map(violation => ({ ...violation, ...explanations[violation.rule] }))
  }
}

/** The signed change of the listed account's balance by an entry. */
function changeFields (
  { kind, amountNano }: StoredEntry, movedNano: number | null
): Pick<Entry, 'change_usd' | 'change_nano'> {
  if (kind === 'usage') return amountFields('change', -amountNano)
  return amountFields('change', kind === 'refund' ? amountNano : movedNano ?? 0)
}

interface EntryRow extends StoredEntry {
  movedNano: number | null
}

interface StoredEntry {
  seq: number
  id: string
  at: number
  kind: Entry['kind']
  debit: string
  credit: string
  amountNano: number
  key: string | null
  model: string | null
  provider: string | null
  ref: string | null
  usage: string | null
  estimated: number
  reverses: number | null
  reason: string | null
  actor: string | null
}

const columns = `
  entry.seq, ${entryIdSql()} as id, entry.at, entry.kind, entry.debit, entry.credit, entry.amount as "amountNano",
  entry.api_key as "key", entry.model, entry.provider, entry.ref, entry.usage, entry.estimated, entry.reverses,
  entry.reason, entry.actor`

function toEntry ({ seq: _, at, amountNano, usage, estimated, reverses, ...row }: StoredEntry): Entry {
  return {
    object: 'entry',
    ...row,
    change_usd: null,
    change_nano: null,
    at: isoTime(at),
    month: monthAt(at).name,
    ...amountFields('amount', amountNano),
    ...usageFields(usage),
    estimated: estimated === 1,
    actor: row.actor ?? (row.kind === 'usage' || row.kind === 'suspense' ? gatewayActor.id : null),
    reverses: reverses === null ? null : entryId(reverses)
  }
}

function usageFields (text: string | null): Pick<Entry, 'usage' | 'tags' | 'provider_cost_nano' | 'reported_cost_nano'> {
  if (text === null) return { usage: null, tags: null, provider_cost_nano: null, reported_cost_nano: null }
  const { counts, costNano, reportedNano, tags } = readUsageText(text)
  return { usage: counts, tags, provider_cost_nano: costNano, reported_cost_nano: reportedNano }
}
