import type { MessageBlockParam, ToolResultBlockParam, ToolResultContent } from '../../../schemas/anthropic/message-blocks.ts'
import type { CreateMessageRequest, MessageParam } from '../../../schemas/anthropic/messages.ts'
import type { ChatMessage, FunctionToolCall, TextPart } from '../../../schemas/openai/chat-messages.ts'
import { toReasoningDetail } from '../../providers/anthropic/thinking-signature.ts'
import type { JsonObject } from '../../shared/json.ts'
import { documentParts, imagePart, searchResultText, textPart, type PromptPart } from './document-text.ts'
import { isSealed, unsealThinking } from './sealed-thinking.ts'

type Prompt = Pick<CreateMessageRequest, 'messages' | 'system'>

/**
 * The messages of a prompt in OpenAI's form; with `marks`, the marks of cached prefixes on instructions,
 * inputs and results of tools become OpenAI's, else they are left out. Throws GatewayError 400 for files.
 */
export function convertToChat ({ messages, system }: Prompt, marks: CacheMarks = 'left out'): ChatMessage[] {
  const chat = new ChatMessages(marks === 'kept' ? withMark : parts => parts)
  const start = messages.findIndex(({ role }) => role !== 'system')
  const first = messages.slice(0, start === -1 ? messages.length : start)
  chat.addSystem([system, ...first.map(({ content }) => content)])
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  messages.slice(first.length).forEach((message, index) => {
    const at = first.length + index
    if (message.role === 'assistant') return chat.addAssistant(message.content ?? [])
    if (message.role === 'user') return chat.addUser(message.content ?? [], `messages[${at}].content`)
    const isCleared = message.clear_at === 'next_user_message' && at < lastUser
    // Many templates take system messages only at the beginning.
    if (!isCleared) chat.addInstruction(message.content)
  })
  return chat.end()
}

export type CacheMarks = 'kept' | 'left out'

/** The parts of a block, the last one with the block's mark if it has one. */
type MarkParts = <Part extends PromptPart>(parts: readonly Part[], block: object) => readonly Part[]

const withMark: MarkParts = (parts, block) => {
  const last = parts.at(-1)
  if (last === undefined || Reflect.get(block, 'cache_control') == null) return parts
  return [...parts.slice(0, -1), { ...last, prompt_cache_breakpoint: { mode: 'explicit' } }]
}

type Instruction = MessageParam['content'] | CreateMessageRequest['system']

class ChatMessages {
  readonly #messages: ChatMessage[] = []
  /** The user's message that goes on: its parts are joined once, however many there are. */
  #said: PromptPart[] = []
  readonly #mark: MarkParts

  constructor (mark: MarkParts) {
    this.#mark = mark
  }

  end (): ChatMessage[] {
    this.#endSaid()
    return this.#messages
  }

  addSystem (instructions: readonly Instruction[]): void {
    const parts = instructions.flatMap(one => this.#textsIn(one))
    if (parts.length > 0) this.#add({ role: 'system', content: contentOf(parts) })
  }

  /** One that does not stand at the beginning. */
  addInstruction (instruction: Instruction): void {
    this.addParts(this.#textsIn(instruction).map(part => ({ ...part, text: `<system>\n${part.text}\n</system>` })))
  }

  #textsIn (content: Instruction): TextPart[] {
    if (content === undefined || content === '') return []
    if (typeof content === 'string') return [textPart(content)]
    return content.flatMap(block => {
      return block.type === 'text' && block.text !== '' ? this.#mark([textPart(block.text)], block) : []
    })
  }

  /** Parts of the user; what follows other parts of the user joins them. */
  addParts (parts: readonly PromptPart[]): void {
    for (const part of parts) this.#said.push(part)
  }

  #add (message: ChatMessage): void {
    this.#endSaid()
    this.#messages.push(message)
  }

  #endSaid (): void {
    if (this.#said.length > 0) this.#messages.push({ role: 'user', content: contentOf(this.#said) })
    this.#said = []
  }

  addUser (content: NonNullable<MessageParam['content']>, param: string): void {
    if (typeof content === 'string') return this.addParts([textPart(content)])
    const parts: PromptPart[] = []
    content.forEach((block, at) => {
      if (block.type === 'tool_result') parts.push(...this.#addResult(block, `${param}[${at}]`))
      else parts.push(...this.#mark(userParts(block, `${param}[${at}]`), block))
    })
    this.addParts(parts)
  }

  addAssistant (content: NonNullable<MessageParam['content']>): void {
    const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
    const thoughts = thoughtsIn(blocks)
    const text = blocks.flatMap(block => block.type === 'text' ? [block.text] : []).join('')
    const calls = blocks.flatMap((block): FunctionToolCall[] => {
      if (block.type !== 'tool_use') return []
      const { id, name, input } = block
      const extra = thoughts.extras[id]
      const call: FunctionToolCall = { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
      return [extra === undefined ? call : Object.assign(call, { extra_content: extra })]
    })
    const { reasoning, details } = thoughts
    this.#add({
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls })
    })
  }

  /** Adds the text of a result, and returns its images and files, which such messages do not take. */
  #addResult (result: ToolResultBlockParam, param: string): PromptPart[] {
    const { tool_use_id: id, content = '', is_error: isError } = result
    const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
    const texts: string[] = []
    const media: PromptPart[] = []
    blocks.forEach((block, at) => {
      if (block.type === 'tool_reference') texts.push(`The tool ${String(Reflect.get(block, 'tool_name'))} can be called now.`)
      else if (block.type === 'text') texts.push(block.text)
      else for (const part of userParts(block, `${param}.content[${at}]`)) part.type === 'text' ? texts.push(part.text) : media.push(part)
    })
    const text = texts.join('\n') || (media.length > 0 ? 'The result follows.' : '')
    const marked = [result, ...blocks].findLast(block => Reflect.get(block, 'cache_control') != null) ?? result
    const parts = this.#mark([textPart(isError === true ? `Error: ${text}` : text)], marked)
    // Results follow the calls at once, before anything that the user says.
    this.#add({ role: 'tool', tool_call_id: id, content: contentOf(parts) })
    return media.length === 0 ? [] : [textPart(`From the result of the tool call ${id}:`), ...media]
  }
}

/** What the client shows the model, but for results of tools. */
function userParts (block: MessageBlockParam | ToolResultContent, param: string): PromptPart[] {
  switch (block.type) {
    case 'text': return block.text === '' ? [] : [textPart(block.text)]
    case 'image': return [imagePart(block, param)]
    case 'document': return documentParts(block, param)
    case 'search_result': return [textPart(searchResultText(block))]
    default: return []
  }
}

/** Texts alone as one, because not every server takes parts. */
function contentOf<Part extends PromptPart> (parts: readonly Part[]): string | Part[] {
  const isPlain = ({ type, prompt_cache_breakpoint: mark }: Part): boolean => type === 'text' && mark === undefined
  const texts = parts.flatMap(part => part.type === 'text' && isPlain(part) ? [part.text] : [])
  return texts.length === parts.length ? texts.join('\n\n') : [...parts]
}

interface Thoughts { reasoning: string, details: JsonObject[], extras: JsonObject }

function thoughtsIn (blocks: readonly MessageBlockParam[]): Thoughts {
  const thoughts: Thoughts = { reasoning: '', details: [], extras: {} }
  for (const block of blocks) {
    if (block.type !== 'thinking' && block.type !== 'redacted_thinking') continue
    if (block.type === 'thinking' && isSealed(block.signature)) {
      const { text = block.thinking, details = [], extras = {} } = unsealThinking(block.signature)
      thoughts.reasoning += text
      thoughts.details.push(...details)
      Object.assign(thoughts.extras, extras)
      continue
    }
    if (block.type === 'thinking') thoughts.reasoning += block.thinking
    thoughts.details.push(toReasoningDetail(block, thoughts.details.length))
  }
  return thoughts
}
