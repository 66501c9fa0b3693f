import type { Static } from '@sinclair/typebox'
import type { SuspenseClosing, SuspenseItem, SuspenseQuery } from '../../../schemas/admin/suspense.ts'
import { readUsageText } from '../../billing/ledger/types.ts'
import { entryId, whereEntryId } from '../../billing/ledger/entry-id.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isoTime } from '../../shared/iso-time.ts'
import type { Value } from '../../store/store.ts'
import { whereClause } from '../../store/where-clause.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { readPage, type Page, type ListRequest } from './page.ts'

export type SuspenseRequest = ListRequest<Static<typeof SuspenseQuery>>

/** A closed item; `created` is false if it had already been closed in this way. */
export interface ClosedSuspense { item: SuspenseItem, created: boolean }

/** Lists open and closed items in suspense, newest first. Throws GatewayError 400 for a wrong page. */
export async function listSuspense (
  { store, flush }: Administration, request: SuspenseRequest = {}
): Promise<Page<SuspenseItem>> {
  const { state, account } = request
  await flush()
  return await readPage(request, {
    example: [0],
    async read (after, limit) {
      const params: Value[] = []
      const where = whereClause([
        ['item.seq < ?', after?.[0] ?? Number.MAX_SAFE_INTEGER],
        [`${stateSql} = ?`, state],
        ["(item.chain = ? or item.chain like ? || ' %')", account]
      ], params)
      return await store.reports.all<SuspenseRow>(
        `${select} and ${where} order by item.seq desc limit $${params.push(limit)}`, params)
    },
    toItem: toSuspenseItem,
    cursorOf: ({ seq }) => [seq]
  })
}

/** Charges the account of an item after all. Throws as `Suspense.clear` does. */
export const clearSuspense = closeBy('clear')

/** Closes an item at the operator's expense. Throws as `Suspense.writeOff` does. */
export const writeOffSuspense = closeBy('writeOff')

function closeBy (how: 'clear' | 'writeOff') {
  return async (
    administration: Administration, id: string, { reason }: SuspenseClosing
  ): Promise<ClosedSuspense> => {
    const { suspense, actor, flush } = administration
    await flush()
    const created = await suspense[how]({ entry: id, reason, actor })
    return { item: await getItem(administration, id), created }
  }
}

async function getItem ({ store }: Administration, id: string): Promise<SuspenseItem> {
  const { condition, params } = whereEntryId(id)
  const row = await store.get<SuspenseRow>(`${select} and ${condition.replaceAll('entry.', 'item.')}`, params)
  if (row === undefined) throw new GatewayError(404, 'invalid_request_error', `No entry has the id \`${id}\`.`)
  return toSuspenseItem(row)
}

interface SuspenseRow {
  seq: number
  at: number
  state: SuspenseItem['state']
  reason: string | null
  chain: string
  key: string | null
  model: string | null
  provider: string | null
  ref: string | null
  amountNano: number
  usage: string | null
  estimated: number
  closingSeq: number | null
  closedAt: number | null
  closedBy: string | null
  why: string | null
}

const stateSql = "case closing.kind when 'usage' then 'cleared' when 'suspense' then 'written_off' else 'open' end"

const select = `
  select item.seq, item.at, ${stateSql} as state, item.reason, item.chain, item.api_key as "key", item.model,
    item.provider, item.ref, item.amount as "amountNano", item.usage, item.estimated,
    closing.seq as "closingSeq", closing.at as "closedAt", closing.actor as "closedBy", closing.reason as why
  from entry as item left join entry as closing on closing.reverses = item.seq
  where item.kind = 'suspense' and item.debit = 'suspense'`

function toSuspenseItem (row: SuspenseRow): SuspenseItem {
  const { seq, at, chain, amountNano, usage, estimated, closingSeq, closedAt, closedBy, why, ...facts } = row
  return {
    object: 'suspense_item',
    id: entryId(seq),
    at: isoTime(at),
    ...facts,
    account: chain.split(' ')[0] ?? '',
    ...amountFields('amount', amountNano),
    usage: usage === null ? null : readUsageText(usage).counts,
    estimated: estimated === 1,
    closing: closingSeq === null
      ? null
      : { entry: entryId(closingSeq), at: isoTime(closedAt ?? 0), actor: closedBy, reason: why }
  }
}
