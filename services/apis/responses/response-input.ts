import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import type { ResponseRequest } from '../../../schemas/openai/responses.ts'
import { newItemId } from './open-items.ts'
import { itemNotFound, previousNotFound, type StoredResponses } from './stored-responses.ts'
import type { NamedItem } from './to-messages.ts'

/** The whole input of a request. */
export interface ResponseTurn {
  /** With those of earlier turns. */
  items: NamedItem[]
  /** Those of the request, with the items that it names by their id. */
  own: ResponseInputItem[]
  historyBytes: number
}

/**
 * Reads the input of a request: earlier turns, and items by their id. Throws GatewayError 400 or 404 for what
 * is not kept for the account, 413 for more than is read for one request.
 */
export async function readTurn (
  { input, previous_response_id: previous }: Pick<ResponseRequest, 'input' | 'previous_response_id'>,
  account: string, stored: StoredResponses | null
): Promise<ResponseTurn> {
  if (previous != null && stored === null) throw previousNotFound(previous)
  const history = previous == null || stored === null
    ? { items: [], bytes: 0 }
    : await stored.history(account, previous)
  const own = await withReferred(
    typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input,
    kept => stored?.items(account, kept, history.bytes))
  const items = [
    ...history.items.map(item => ({ item, param: 'previous_response_id' })),
    ...own.map((item, at) => ({ item, param: `input[${at}]` }))
  ]
  return { items, own, historyBytes: history.bytes }
}

/** The items of a request, those that it names by their id in the place of the name. */
async function withReferred (
  input: readonly ResponseInputItem[], find: (wanted: Set<string>) => ReturnType<StoredResponses['items']> | undefined
): Promise<ResponseInputItem[]> {
  const wanted = new Set(input.flatMap(item => item.type === 'item_reference' ? [item.id] : []))
  const kept = await find(wanted)
  return input.map(item => {
    if (item.type !== 'item_reference') return item
    const found = kept?.get(item.id)
    if (found === undefined) throw itemNotFound(item.id)
    return found
  })
}

/** Prefixes of the ids of items, by type. */
const prefixes: Readonly<Record<string, string>> = {
  message: 'msg', function_call: 'fc', function_call_output: 'fco', custom_tool_call: 'ctc', custom_tool_call_output: 'ctco', reasoning: 'rs', tool_search_call: 'tsc', tool_search_output: 'tso'
}

/** Items as they are read again: each with a type and an id, and texts as parts. */
export function keptItems (items: readonly ResponseInputItem[]): ResponseInputItem[] {
  return items.map(item => {
    const type = item.type ?? 'message'
    const id = item.id ?? newItemId(prefixes[type] ?? 'item')
    if (item.type !== undefined && item.type !== 'message') return { ...item, id }
    const { role, content } = item
    const text = role === 'assistant' ? 'output_text' as const : 'input_text' as const
    const parts = typeof content === 'string' ? [{ type: text, text: content }] : content
    return { ...item, type: 'message', id, role, content: parts, status: 'completed' }
  })
}
