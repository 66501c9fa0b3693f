import type { JsonObject } from '../../shared/json.ts'

/** What a call is to do: respond whole, as a stream, or count the tokens of its prompt. */
type Task = 'whole' | 'stream' | 'count'

/** Where a service that has the Messages API takes a call. */
export interface PlacedCall {
  /** Below the base URL. */
  path: string
  headers: Record<string, string>
  /** Members of the body to set, or to leave out (undefined). */
  members: JsonObject
}

/** Places a call; the headers are those of Anthropic's own service. */
export type PlaceCall = (
  call: { model: string, does: Task, headers: Record<string, string> }
) => PlacedCall

export const atAnthropic: PlaceCall = ({ model, does, headers }) => ({
  path: does === 'count' ? '/messages/count_tokens' : '/messages', headers, members: { model }
})
