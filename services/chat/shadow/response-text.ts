import { isObject } from '../../shared/json.ts'
import { eventsIn } from '../../providers/upstream/sse.ts'

/** The text of an answer as it went to a client, whole or as an event stream; null if it has none. */
export function responseText (kind: 'json' | 'events', bytes: Uint8Array): string | null {
  if (kind === 'json') return textIn(JSON.parse(Buffer.from(bytes).toString()), 'message')
  let text = ''
  for (const { data } of eventsIn(Buffer.from(bytes))) {
    if (data !== '[DONE]') text += textIn(JSON.parse(data), 'delta') ?? ''
  }
  return text === '' ? null : text
}

function textIn (body: unknown, part: 'message' | 'delta'): string | null {
  const choices: unknown = isObject(body) ? body.choices : null
  const first: unknown = Array.isArray(choices) ? choices[0] : null
  const message: unknown = isObject(first) ? first[part] : null
  const content: unknown = isObject(message) ? message.content : null
  return typeof content === 'string' && content !== '' ? content : null
}
