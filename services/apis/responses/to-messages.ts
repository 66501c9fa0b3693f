import type {
  AssistantMessage, ChatMessage, ToolCall, ToolMessage, UserPart
} from '../../../schemas/openai/chat-messages.ts'
import type {
  MessagePart, ReasoningItem, ResponseInputItem, ToolSearchItem
} from '../../../schemas/openai/response-items.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { toChatParts, textPartsOf } from './to-parts.ts'
import { unsealThoughts } from './sealed-thoughts.ts'
import { customInput } from './to-tools.ts'
import { chatToolName, toolNames } from './tool-names.ts'
import { isClientSearchItem, toolSearchName } from './tool-search.ts'

/** An item with its name in error messages. */
export interface NamedItem { item: ResponseInputItem, param: string }

/**
 * Translates items to messages of chat; those that only the Responses API knows are left out. What the model
 * wrote between two inputs is one message; instructions and the system messages at the beginning are one too,
 * because many models take one only, and only there. Throws GatewayError 400 for what chat has no equivalent
 * of.
 */
export function toMessages (items: readonly NamedItem[], instructions: string | null): ChatMessage[] {
  const messages = new MessageList(instructions)
  for (const { item, param } of items) messages.add(item, param)
  return messages.end()
}

/** With the members in which chat carries thoughts. */
type Written = AssistantMessage & {
  reasoning_content?: string, reasoning_details?: unknown[], extra_content?: JsonObject
}

type Role = 'user' | 'assistant' | 'system' | 'developer'

class MessageList {
  readonly #messages: ChatMessage[] = []
  /** The texts of the message at the beginning: of the instructions, then of each system message. */
  readonly #opening: Texts[] = []
  /** The message of the model that goes on. */
  #written: Written | null = null
  /** For the next tool call of that message. */
  #callExtra: JsonObject | null = null
  /** What tools returned beside texts; it follows all results, in a message of the user. */
  #attached: UserPart[] = []

  constructor (instructions: string | null) {
    if (isText(instructions)) this.#opening.push([{ type: 'text', text: instructions }])
  }

  add (item: ResponseInputItem, param: string): void {
    switch (item.type) {
      case undefined:
      case 'message': return this.#addMessage(item.role, item.content, param)
      case 'reasoning': return this.#addReasoning(item)
      case 'function_call': return this.#addCall(item.call_id, chatToolName(item.name, item.namespace), item.arguments)
      case 'custom_tool_call': return this.#addCall(
        item.call_id, chatToolName(item.name, item.namespace), JSON.stringify({ [customInput]: item.input }))
      case 'function_call_output':
      case 'custom_tool_call_output': return this.#addOutput(item.call_id, item.output, `${param}.output`)
      case 'tool_search_call':
      case 'tool_search_output': return this.#addSearch(item)
      default: return this.#addScreenshot(item)
    }
  }

  end (): ChatMessage[] {
    this.#endWritten()
    this.#endOutputs()
    const [first, ...more] = this.#opening
    if (first === undefined) return this.#messages
    const content = more.length === 0 ? simplified(first) : merged(this.#opening.flat())
    return [{ role: 'system', content }, ...this.#messages]
  }

  #addMessage (role: Role, content: string | MessagePart[], param: string): void {
    if (role === 'assistant') return this.#write(content, param)
    this.#endWritten()
    this.#endOutputs()
    if (role === 'user') {
      const parts = typeof content === 'string' ? content : toChatParts(content, `${param}.content`)
      this.#messages.push({ role, content: simplified(parts) })
      return
    }
    const texts = textPartsOf(content, `${param}.content`)
    if (this.#messages.length === 0) this.#opening.push(texts)
    else this.#messages.push({ role: 'system', content: simplified(texts) })
  }

  #write (content: string | MessagePart[], param: string): void {
    const message = this.#begin()
    const parts = typeof content === 'string' ? [{ type: 'output_text' as const, text: content }] : content
    for (const [at, part] of parts.entries()) {
      if (part.type === 'refusal') message.refusal = (message.refusal ?? '') + part.refusal
      else if (part.type === 'output_text' || part.type === 'input_text') {
        message.content = (typeof message.content === 'string' ? message.content : '') + part.text
      } else throw GatewayError.unsupportedParameter(`${param}.content[${at}].type`, `A message of the assistant cannot have '${part.type}'.`)
    }
  }

  #addReasoning ({ summary = [], content, encrypted_content: sealed }: ReasoningItem): void {
    const message = this.#begin()
    const text = [...summary, ...content ?? []].map(({ text }) => text).join('\n\n')
    if (text !== '') message.reasoning_content = (message.reasoning_content ?? '') + text
    const thoughts = isText(sealed) ? unsealThoughts(sealed) : null
    if (thoughts?.details !== undefined) {
      // Numbered per item, but providers tell them apart by number.
      const details = message.reasoning_details ??= []
      for (const detail of thoughts.details) details.push({ ...Object(detail), index: details.length })
    }
    if (thoughts?.message !== undefined) message.extra_content = thoughts.message
    this.#callExtra = thoughts?.call ?? this.#callExtra
  }

  #addCall (id: string, name: string, args: string): void {
    const message = this.#begin()
    const call: ToolCall = { id, type: 'function', function: { name, arguments: args } }
    if (this.#callExtra !== null) Reflect.set(call, 'extra_content', this.#callExtra)
    this.#callExtra = null
    message.tool_calls ??= []
    message.tool_calls.push(call)
  }

  #addSearch (item: ToolSearchItem): void {
    if (!isClientSearchItem(item)) return
    if (item.type === 'tool_search_call') {
      return this.#addCall(item.call_id, toolSearchName, JSON.stringify(item.arguments ?? {}))
    }
    const names = [...toolNames(item.tools).keys()]
    const text = names.length === 0 ? 'No tools were found.' : `These tools can be called now: ${names.join(', ')}.`
    this.#addOutput(item.call_id, text, '')
  }

  #addOutput (id: string, output: string | MessagePart[], param: string): void {
    this.#endWritten()
    const parts = typeof output === 'string' ? [{ type: 'text' as const, text: output }] : toChatParts(output, param)
    const texts = parts.filter(part => part.type === 'text')
    const others = parts.filter(part => part.type !== 'text')
    if (others.length > 0) {
      texts.push({ type: 'text', text: `(${others.length} attached below, with the id ${id})` })
      this.#attached.push({ type: 'text', text: `Output of the tool call ${id}:` }, ...others)
    }
    const message: ToolMessage = { role: 'tool', tool_call_id: id, content: texts.map(({ text }) => text).join('\n') }
    this.#messages.push(message)
  }

  /**
   * Adds the picture of an item that only a provider with the Responses API can read, which bounds its
   * tokens; the texts of such items are bounded by their length.
   */
  #addScreenshot (item: object): void {
    const output: unknown = Reflect.get(item, 'output')
    if (!isObject(output) || !isText(output.image_url)) return
    this.#addMessage('user', [{ type: 'input_image', image_url: output.image_url }], '')
  }

  #begin (): Written {
    this.#endOutputs()
    this.#written ??= { role: 'assistant', content: null }
    return this.#written
  }

  #endWritten (): void {
    const written = this.#written
    this.#written = null
    this.#callExtra = null
    if (written === null) return
    // Thoughts alone are no message.
    if (written.content === null && written.refusal === undefined && written.tool_calls === undefined) return
    this.#messages.push(written)
  }

  #endOutputs (): void {
    if (this.#attached.length === 0) return
    this.#messages.push({ role: 'user', content: this.#attached })
    this.#attached = []
  }
}

/** A text alone as a string, which all servers take. */
function simplified<Part extends UserPart> (parts: string | Part[]): string | Part[] {
  const [first] = parts
  if (typeof parts === 'string' || parts.length !== 1 || typeof first !== 'object') return parts
  return first.type === 'text' && first.prompt_cache_breakpoint === undefined ? first.text : parts
}

type Texts = ReturnType<typeof textPartsOf>

function merged (texts: Texts): string | Texts {
  const isPlain = texts.every(({ prompt_cache_breakpoint: breakpoint }) => breakpoint === undefined)
  return isPlain ? texts.map(({ text }) => text).join('\n\n') : texts
}
