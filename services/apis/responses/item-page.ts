import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import type { InputItemList, InputItemsQuery } from '../../../schemas/openai/responses.ts'
import { GatewayError } from '../../shared/errors.ts'

/** A page of items, the latest first by default. Throws GatewayError 400 for an unknown `after`. */
export function pageOf (
  items: readonly ResponseInputItem[], { after, limit = '20', order = 'desc' }: InputItemsQuery
): InputItemList {
  const sorted = order === 'desc' ? items.toReversed() : [...items]
  const at = after === undefined ? -1 : sorted.findIndex(({ id }) => id === after)
  if (after !== undefined && at === -1) throw GatewayError.invalidValue('after', 'there is no such item')
  const end = at + 1 + Number(limit)
  const data = sorted.slice(at + 1, end)
  return {
    object: 'list',
    data: data.map(item => ({ ...item })),
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: end < sorted.length
  }
}
