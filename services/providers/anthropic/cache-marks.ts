import { isObject } from '../../shared/json.ts'

/**
 * Whether a body of the Messages API has cache marks, and all of them ask for an hour. Marks of an hour stand
 * before those of five minutes. Source: platform.claude.com, "Prompt caching", November 2026.
 */
export function cachesForAnHour (body: unknown): boolean {
  const marks = [...marksIn(body)]
  return marks.length > 0 && marks.every(mark => isObject(mark) && mark.ttl === '1h')
}

/** The marks of a body or block and of the blocks within. */
function * marksIn (value: unknown): Generator<unknown, void, undefined> {
  if (!isObject(value)) return
  const { cache_control: mark, tools, system, messages, content, source } = value
  if (isObject(mark)) yield mark
  for (const list of [tools, system, messages, content, isObject(source) ? source.content : null]) {
    if (Array.isArray(list)) for (const block of list) yield * marksIn(block)
  }
}
