import { isObject } from '../../services/shared/json.ts'

type Event = Record<string, unknown>

const deltaOf: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: []
}

/**
 * What is wrong with the events of one message, by the rules of Anthropic's "Streaming messages"; null if
 * nothing is.
 */
export function complaintAboutEvents (events: readonly Event[]): string | null {
  const said = events.filter(({ type }) => type !== 'ping')
  if (said[0]?.type !== 'message_start') return 'message_start is not the first event'
  if (said.at(-1)?.type !== 'message_stop') return 'message_stop is not the last event'
  if (said.at(-2)?.type !== 'message_delta') return 'message_delta is not the last event but one'
  const input = Object(Object(said[0].message).usage).input_tokens
  if (!(typeof input === 'number' && input > 0)) return 'message_start does not estimate the input'
  let open: { index: number, type: string } | null = null
  let next = 0
  for (const event of said.slice(1, -2)) {
    const { type, index } = event
    if (type === 'content_block_start') {
      if (open !== null) return `block ${index} starts inside block ${open.index}`
      if (index !== next) return `block ${index} follows block ${next - 1}`
      open = { index: next++, type: String(Object(event.content_block).type) }
    } else if (type === 'content_block_delta') {
      const delta = isObject(event.delta) ? String(event.delta.type) : ''
      if (open === null || open.index !== index) return `a delta of block ${index} stands outside it`
      if (deltaOf[open.type]?.includes(delta) !== true) return `${delta} stands in a block of ${open.type}`
    } else if (type === 'content_block_stop') {
      if (open === null || open.index !== index) return `block ${index} stops and is not open`
      open = null
    } else return `${type} stands among the blocks`
  }
  return open === null ? null : `block ${open.index} does not stop`
}
