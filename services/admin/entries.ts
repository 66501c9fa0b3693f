import type { Entry } from '../../schemas/admin/entries.ts'
import { GatewayError } from '../shared/errors.ts'
import { isoTime } from '../shared/iso-time.ts'
import { entriesOfPeriod } from '../ledger/sql/entry-blocks.ts'
import { entryId, entryIdSql, whereEntryId } from '../ledger/entry-id.ts'
import type { Value } from '../store/store.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { pageSize, placeAfter, toPage } from './page.ts'
import type { Page, PageRequest } from './page.ts'

export interface EntryRequest extends PageRequest {
  /** Entries that took from this account or gave to it. */
  account?: string | undefined
  kind?: Entry['kind'] | undefined
  /** From this time on, in milliseconds. */
  from?: number | undefined
  /** Before this time, in milliseconds. */
  to?: number | undefined
}

/** Lists the lines of the books, newest first. Throws GatewayError 400 for a wrong page. */
export async function listEntries (
  { store, flush }: Administration, request: EntryRequest = {}
): Promise<Page<Entry>> {
  const size = pageSize(request)
  const [before] = placeAfter(request, [0]) ?? [Number.MAX_SAFE_INTEGER]
  const { account, kind, from = 0, to = Number.MAX_SAFE_INTEGER } = request
  const isOfPeriod = request.from !== undefined || request.to !== undefined
  const conditions: [string, Value | undefined][] = [
    ['at >= ?', from],
    ['at < ?', to],
    ['seq < ?', before],
    ['(debit = ? or credit = ?)', account],
    ['kind = ?', kind]
  ]
  const asked = conditions.filter((condition): condition is [string, Value] => condition[1] !== undefined)
  const where = asked.map(([sql], index) => sql.replaceAll('?', `$${index + 1}`)).join(' and ')
  // The latest of all are found without looking for a time.
  const source = isOfPeriod ? entriesOfPeriod(store.engine) : 'entry'

  await flush()
  const rows = await store.all<EntryRow>(
    `select ${columns} from ${source} where ${where} order by seq desc limit $${asked.length + 1}`,
    [...asked.map(([, value]) => value), size + 1])
  return toPage(rows, size, { toItem: toEntry, place: ({ seq }) => [seq] })
}

/** Returns one line of the books. Throws GatewayError 404. */
export async function getEntry ({ store }: Administration, id: string): Promise<Entry> {
  const { condition, params } = whereEntryId(id)
  const row = await store.get<EntryRow>(`select ${columns} from entry where ${condition}`, params)
  if (row !== undefined) return toEntry(row)
  throw new GatewayError(404, 'invalid_request_error', `The entry \`${id}\` does not exist.`,
    { code: 'entry_not_found' })
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
