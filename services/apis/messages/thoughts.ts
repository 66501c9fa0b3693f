import type { MessageBlock } from '../../../schemas/anthropic/messages.ts'
import { fromReasoningDetails } from '../../providers/anthropic/thinking-signature.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { sealThinking } from './sealed-thinking.ts'

/** OpenAI's form has no field for thoughts; these are the ones most servers write. */
interface ThinkingMembers { reasoning_content?: unknown, reasoning_details?: unknown }

type ThoughtBlock = Extract<MessageBlock, { type: 'thinking' | 'redacted_thinking' }>

/** Collects the thoughts of an answer until its next text or tool call. */
export class Thoughts {
  #text = ''
  readonly #details = new Map<unknown, JsonObject>()
  readonly #isShown: boolean

  constructor ({ isShown }: { isShown: boolean }) {
    this.#isShown = isShown
  }

  get isEmpty (): boolean {
    return this.#text === '' && this.#details.size === 0
  }

  /** Takes what a message or delta has of thoughts; returns the text to show now. */
  take (message: object): string {
    const { reasoning_content: own, reasoning_details: details }: ThinkingMembers = message
    const added = Array.isArray(details) ? details.filter(isObject) : []
    for (const detail of added) this.#addDetail(detail)
    const text = isText(own) ? own : own === undefined ? added.map(textOfDetail).join('') : ''
    this.#text += text
    return this.#isShown ? text : ''
  }

  /** Ends the thoughts: the block that stands for them, with the text shown so far; null: there were none. */
  end (extras: JsonObject = {}): ThoughtBlock | null {
    const details = [...this.#details.values()]
    const text = this.#text
    this.#text = ''
    this.#details.clear()
    const hasExtras = Object.keys(extras).length > 0
    if (text === '' && details.length === 0 && !hasExtras) return null
    const [only] = details
    // Claude's signature stands for the text beside it, so it passes only with that text.
    const isAlone = details.length === 1 && !hasExtras && this.#isShown
    const [own] = isAlone ? fromReasoningDetails([only]) : []
    if (own?.type === 'thinking') return { ...own, thinking: text }
    if (own?.type === 'redacted_thinking') return own
    const signature = sealThinking({
      ...(this.#isShown || text === '' ? {} : { text }),
      ...(details.length === 0 ? {} : { details }),
      ...(hasExtras ? { extras } : {})
    })
    return { type: 'thinking', thinking: this.#isShown ? text : '', signature }
  }

  /** Details come in pieces of the same index; a signature comes with the last one. */
  #addDetail (detail: JsonObject): void {
    const key = detail.index ?? this.#details.size
    const before = this.#details.get(key)
    const isSame = before !== undefined && before.type === detail.type
    const joined = Object.entries(detail).map(([name, value]) => {
      const former = isSame ? before[name] : undefined
      const grows = growing.has(name) && isText(former) && isText(value)
      return [name, grows ? former + value : value ?? former]
    })
    this.#details.set(key, { ...(isSame ? before : {}), ...Object.fromEntries(joined) })
  }
}

/** Members of a detail that come in pieces. */
const growing: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

function textOfDetail ({ type, text, summary }: JsonObject): string {
  if (type === 'reasoning.text') return isText(text) ? text : ''
  return type === 'reasoning.summary' && isText(summary) ? summary : ''
}
