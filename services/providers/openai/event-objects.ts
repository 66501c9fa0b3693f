import { isObject, type JsonObject } from '../../shared/json.ts'
import { parseBounded } from '../upstream/read-response.ts'

/** The objects in the data of an event, and whether the stream ends with it. */
export interface EventObjects { objects: JsonObject[], isEnd: boolean }

/**
 * Reads the data of an event: one chunk or `[DONE]`, or several of them from servers that leave out the empty
 * lines between their events. Null for anything else.
 */
export function eventObjects (data: string): EventObjects | null {
  const text = data.trim()
  if (text === endMark) return { objects: [], isEnd: true }
  const object = parseObject(text)
  if (object !== null) return { objects: [object], isEnd: false }
  if (text.length > maxJoinedChars) return null
  const { parts, rest } = outermostObjects(text)
  const objects = parts.map(parseObject).filter(object => object !== null)
  const isEnd = rest === endMark
  if (parts.length === 0 || objects.length < parts.length || (rest !== '' && !isEnd)) return null
  return { objects, isEnd }
}

const endMark = '[DONE]'
/** Several chunks in one event are as small as chunks are. */
const maxJoinedChars = 256 * 1024
const tokens = /["{}\\]/g

/** The texts of the objects that follow each other, and what is beside them; in linear time. */
function outermostObjects (text: string): { parts: string[], rest: string } {
  const parts: string[] = []
  let rest = ''
  let depth = 0
  let from = 0
  let isInString = false
  let escapedAt = -1
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (index === escapedAt) continue
    if (isInString) {
      if (token === '\\') escapedAt = index + 1
      else if (token === '"') isInString = false
    } else if (token === '"') {
      isInString = true
    } else if (token === '{' && depth++ === 0) {
      rest += text.slice(from, index)
      from = index
    } else if (token === '}' && --depth === 0) {
      parts.push(text.slice(from, index + 1))
      from = index + 1
    }
  }
  return { parts, rest: (rest + text.slice(from)).trim() }
}

function parseObject (text: string): JsonObject | null {
  try {
    const value = parseBounded(text)
    return isObject(value) ? value : null
  } catch {
    return null // Reported by the caller as a bad reply.
  }
}
