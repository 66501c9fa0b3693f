import type { CreateMessageRequest, MessageTool } from '../../../schemas/anthropic/messages.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { FunctionTool } from '../../../schemas/openai/chat-tools.ts'
import { isObject, isText } from '../../shared/json.ts'
import { isClientTool } from './offered-tools.ts'
import { refusedHere } from './refuse.ts'

type ChatTools = Pick<ChatCompletionRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'>

/** The tools of a request that the client runs. */
export function chatTools (
  { tools = [], tool_choice: choice, messages }: Pick<CreateMessageRequest, 'tools' | 'tool_choice' | 'messages'>
): ChatTools {
  const functions = currentTools(tools, messages)
  return functions.length === 0 ? {} : { tools: functions, ...toolChoice(choice) }
}

/** The tools that may be called now: those that are not deferred, or were found, added and not taken away. */
function currentTools (
  tools: readonly MessageTool[], messages: CreateMessageRequest['messages']
): FunctionTool[] {
  const found = new Set<unknown>()
  const current = new Map<string, FunctionTool>()
  for (const block of messages.flatMap(({ content }) => Array.isArray(content) ? content : [])) {
    if (block.type !== 'tool_result' || !Array.isArray(block.content)) continue
    for (const inner of block.content) if (inner.type === 'tool_reference') found.add(Reflect.get(inner, 'tool_name'))
  }
  const known = new Map(tools.map(tool => [tool.name, tool]))
  const add = (tool: MessageTool | undefined, param: string): void => {
    if (tool !== undefined && isClientTool(tool)) current.set(tool.name ?? '', toFunction(tool, param))
  }
  tools.forEach((tool, at) => {
    if (tool.defer_loading !== true || found.has(tool.name)) add(tool, `tools[${at}]`)
  })
  messages.forEach(({ content }, at) => {
    if (!Array.isArray(content)) return
    content.forEach((block, index) => {
      if (block.type === 'tool_removal') current.delete(block.tool.name ?? '')
      if (block.type !== 'tool_addition') return
      const { name, definition } = block.tool
      add(isObject(definition) ? definition : known.get(name), `messages[${at}].content[${index}].tool`)
    })
  })
  return [...current.values()]
}

function toFunction (tool: MessageTool, param: string): FunctionTool {
  const { name, description = '', input_schema: parameters, strict, input_examples: examples } = tool
  if (!isText(name)) throw refusedHere(`${param}.name`, 'a tool needs a name')
  if (!isObject(parameters)) throw refusedHere(`${param}.input_schema`, 'a tool needs a schema')
  const shown = (examples ?? []).map(example => JSON.stringify(example))
  const text = [description, ...shown.length === 0 ? [] : [`Examples of its input:\n${shown.join('\n')}`]].join('\n\n').trim()
  return {
    type: 'function',
    function: {
      name,
      ...(text === '' ? {} : { description: text }),
      parameters,
      ...(strict === true ? { strict } : {})
    }
  }
}

function toolChoice (choice: CreateMessageRequest['tool_choice']): ChatTools {
  if (choice === undefined) return {}
  if (choice.type === 'none') return { tool_choice: 'none' }
  const single = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}
  if (choice.type === 'tool') return { tool_choice: { type: 'function', function: { name: choice.name } }, ...single }
  return { tool_choice: choice.type === 'any' ? 'required' : 'auto', ...single }
}
