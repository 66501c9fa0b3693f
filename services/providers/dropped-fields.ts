import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import { isObject, ownMember } from '../shared/json.ts'

/** Values that match the behaviour of an API without the field, so that dropping them changes nothing. */
const neutral: Readonly<Record<string, readonly unknown[]>> = {
  frequency_penalty: [0],
  presence_penalty: [0],
  n: [1],
  logprobs: [false],
  store: [false],
  service_tier: ['auto', 'default'],
  verbosity: ['medium']
}

/** The names of dropped fields go into a response header, so their number and length are bounded. */
const limits = { names: 32, length: 64 }

/** Names of the request's fields that are not among the translated ones, and so are dropped. */
export function droppedFields (request: ChatCompletionRequest, translated: ReadonlySet<string>): string[] {
  const fields = Object.entries(request)
    .filter(([name, value]) => !translated.has(name) && isWanted(name, value))
  return fields.slice(0, limits.names).map(([name]) => name.replace(/[^\w.-]/g, '_').slice(0, limits.length))
}

function isWanted (name: string, value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (ownMember(neutral, name)?.includes(value) === true) return false
  return !isObject(value) || Object.keys(value).length > 0 || name === 'web_search_options'
}
