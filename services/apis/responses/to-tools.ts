import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { FunctionTool } from '../../../schemas/openai/chat-tools.ts'
import type {
  ResponseCustomTool, ResponseFunctionTool, ResponseTool, ResponseToolChoice, ToolSearchTool
} from '../../../schemas/openai/response-tools.ts'
import { GatewayError } from '../../shared/errors.ts'
import { chatToolName } from './tool-names.ts'
import { isClientSearch, toolSearchName, type FoundTool } from './tool-search.ts'

/** The members of a chat request that say which tools there are and which may be called. */
export type ChatTools = Pick<ChatCompletionRequest, 'tools' | 'tool_choice'>

/**
 * Translates tools and the choice among them. Custom tools become functions with one text, because few
 * providers have them; a choice of allowed tools leaves the others out. Built-in tools are skipped: only a
 * provider that has them is asked then. Where the client searches among tools, deferred ones are left out
 * until they are `found`.
 */
export function toChatTools (
  tools: readonly ResponseTool[], choice: ResponseToolChoice | null, found: readonly FoundTool[] = []
): ChatTools {
  const current = tools.some(isClientSearch) ? tools.map(withoutDeferred) : tools
  const declared = current.flatMap((tool, at) => tool === null ? [] : functionsOf(tool, `tools[${at}]`))
  const others = found.flatMap(({ tool, param }) => functionsOf(tool, param))
  const all = [...declared, ...newOnes(others, declared)]
  if (all.length === 0) return {}
  if (choice === null || typeof choice === 'string') return { tools: all, ...(choice === null ? {} : { tool_choice: choice }) }
  if (choice.type === 'allowed_tools') {
    const allowed = new Set(choice.tools.map(({ type, name }) => type === 'tool_search' ? toolSearchName : name))
    const some = all.filter(({ function: { name } }) => allowed.has(name))
    if (some.length === 0) throw GatewayError.unsupportedParameter('tool_choice.tools', 'None of the allowed tools is among the `tools`.')
    return { tools: some, tool_choice: choice.mode }
  }
  const name = chosenName(choice)
  return name === null ? { tools: all } : { tools: all, tool_choice: { type: 'function', function: { name } } }
}

function chosenName (choice: Exclude<ResponseToolChoice, string>): string | null {
  if (choice.type === 'tool_search') return toolSearchName
  return choice.type === 'function' || choice.type === 'custom' ? choice.name : null
}

/** A tool, or what of its namespace may be called at once; null: nothing. */
function withoutDeferred (tool: ResponseTool): ResponseTool | null {
  if (tool.type === 'namespace') return { ...tool, tools: tool.tools.filter(inner => !isDeferred(inner)) }
  return isDeferred(tool) ? null : tool
}

const isDeferred = (tool: object): boolean => Reflect.get(tool, 'defer_loading') === true

/** The first of each name that is not among the others: two searches may find the same. */
function newOnes (functions: readonly FunctionTool[], others: readonly FunctionTool[]): FunctionTool[] {
  const names = new Set(others.map(tool => tool.function.name))
  return functions.filter(({ function: { name } }) => names.has(name) ? false : names.add(name))
}

function functionsOf (tool: ResponseTool, param: string): FunctionTool[] {
  switch (tool.type) {
    case 'function': return [toFunction(tool, tool.name)]
    case 'custom': return [toTextFunction(tool, tool.name)]
    case 'namespace': return tool.tools.map((inner, at) => {
      const name = chatToolName(inner.name, tool.name)
      if (/[^\w-]/.test(name)) {
        throw GatewayError.unsupportedParameter(`${param}.tools[${at}].name`, 'A name within a namespace has only letters, digits, `_` and `-`.')
      }
      return inner.type === 'function' ? toFunction(inner, name) : toTextFunction(inner, name)
    })
    case 'tool_search': return isClientSearch(tool) ? [toSearchFunction(tool)] : []
    default: return []
  }
}

function toSearchFunction ({ description, parameters }: ToolSearchTool): FunctionTool {
  return {
    type: 'function',
    function: {
      name: toolSearchName,
      description: description ?? 'Searches for tools, which may be called from then on.',
      parameters: parameters ?? { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }
    }
  }
}

function toFunction ({ description, parameters, strict }: ResponseFunctionTool, name: string): FunctionTool {
  return {
    type: 'function',
    function: {
      name,
      ...(description == null ? {} : { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
      ...(strict == null ? {} : { strict })
    }
  }
}

/** The member that has the text of a custom tool's call. */
export const customInput = 'input'

function toTextFunction ({ description, format }: ResponseCustomTool, name: string): FunctionTool {
  const grammar = format?.type === 'grammar'
    ? `The text of \`${customInput}\` must follow this ${format.syntax === 'lark' ? 'Lark grammar' : 'regular expression'}:\n${format.definition}`
    : null
  const text = [description, grammar].filter(part => part != null && part !== '').join('\n\n')
  return {
    type: 'function',
    function: {
      name,
      ...(text === '' ? {} : { description: text }),
      parameters: {
        type: 'object',
        properties: { [customInput]: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
        required: [customInput],
        additionalProperties: false
      }
    }
  }
}

/** The input in the arguments of a custom tool's call; a model that forgets the object has sent it bare. */
export function customInputOf (args: string): string {
  try {
    const value: unknown = JSON.parse(args)
    if (typeof value === 'string') return value
    const input: unknown = Reflect.get(Object(value), customInput)
    return typeof input === 'string' ? input : args
  } catch {
    return args
  }
}
