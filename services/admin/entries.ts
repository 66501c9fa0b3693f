import type { Entry } from '../../schemas/admin/entries.ts'
import type { LedgerCheck } from '../../schemas/admin/ledger.ts'
import { checkLedger } from '../ledger/check.ts'
import { GatewayError } from '../shared/errors.ts'
import { isoTime } from '../shared/iso-time.ts'
import { entriesOfPeriod } from '../ledger/sql/entry-blocks.ts'
import { entryId, entryIdSql, whereEntryId } from '../ledger/entry-id.ts'
import type { Value } from '../store/store.ts'
import { whereClause } from '../store/where-clause.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { readPage, type Page, type PageRequest, type TimeRange } from './page.ts'

export interface EntryRequest extends PageRequest, TimeRange {
  /** Entries that debit or credit this account. */
  account?: string | undefined
  kind?: Entry['kind'] | undefined
}

/** Lists ledger entries, newest first. Throws GatewayError 400 for a wrong page. */
export async function listEntries (
  { store, flush }: Administration, request: EntryRequest = {}
): Promise<Page<Entry>> {
  const { account, kind, from, to } = request
  // Without a time range, the newest entries are found by their number alone.
  const source = from === undefined && to === undefined ? 'entry' : entriesOfPeriod(store.engine)

  await flush()
  return await readPage(request, {
    example: [0],
    async read (after, limit) {
      const params: Value[] = []
      const where = whereClause([
        // `entriesOfPeriod` expects these two as the first parameters.
        ['at >= ?', from ?? 0],
        ['at < ?', to ?? Number.MAX_SAFE_INTEGER],
        ['seq < ?', after?.[0]],
        ['(debit = ? or credit = ?)', account],
        ['kind = ?', kind]
      ], params)
      const rows = `select ${columns} from ${source} where ${where} order by seq desc limit $${params.push(limit)}`
      return await store.all<EntryRow>(rows, params)
    },
    toItem: toEntry,
    cursorOf: ({ seq }) => [seq]
  })
}

/** Returns one ledger entry. Throws GatewayError 404. */
export async function getEntry ({ store }: Administration, id: string): Promise<Entry> {
  const { condition, params } = whereEntryId(id)
  const row = await store.get<EntryRow>(`select ${columns} from entry where ${condition}`, params)
  if (row !== undefined) return toEntry(row)
  throw new GatewayError(404, 'invalid_request_error', `The entry \`${id}\` does not exist.`,
    { code: 'entry_not_found' })
}

/** Checks the consistency of the ledger without changing anything. Throws StoreUnavailable. */
export async function runLedgerCheck ({ store, flush }: Administration): Promise<LedgerCheck> {
  await flush()
  const violations = await checkLedger(store)
  return { object: 'ledger_check', ok: violations.length === 0, violations }
}

interface EntryRow {
  seq: number
  id: string
  at: number
  kind: Entry['kind']
  debit: string
  credit: string
  amountNano: number
  key: string | null
  model: string | null
  ref: string | null
  usage: string | null
  estimated: number
  reverses: number | null
  reason: string | null
}

const columns = `
  seq, ${entryIdSql()} as id, at, kind, debit, credit, amount as "amountNano", api_key as "key", model, ref, usage, estimated,
  reverses, reason`

function toEntry ({ seq: _, at, amountNano, usage, estimated, reverses, ...row }: EntryRow): Entry {
  return {
    object: 'entry',
    ...row,
    at: isoTime(at),
    ...amountFields('amount', amountNano),
    usage: usage === null ? null : JSON.parse(usage),
    estimated: estimated === 1,
    reverses: reverses === null ? null : entryId(reverses)
  }
}
