import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { FunctionTool } from '../../../schemas/openai/chat-tools.ts'
import type {
  ResponseCustomTool, ResponseFunctionTool, ResponseTool, ResponseToolChoice
} from '../../../schemas/openai/response-tools.ts'
import { GatewayError } from '../../shared/errors.ts'
import { chatToolName } from './tool-names.ts'

/** The members of a chat request that say which tools there are and which may be called. */
export type ChatTools = Pick<ChatCompletionRequest, 'tools' | 'tool_choice'>

/**
 * Translates tools and the choice among them. Custom tools become functions with one text, because few
 * providers have them; a choice of allowed tools leaves the others out. Built-in tools are skipped: only a
 * provider that has them is asked then.
 */
export function toChatTools (tools: readonly ResponseTool[], choice: ResponseToolChoice | null): ChatTools {
  const all = tools.flatMap((tool, at) => functionsOf(tool, `tools[${at}]`))
  if (all.length === 0) return {}
  if (choice === null || typeof choice === 'string') return { tools: all, ...(choice === null ? {} : { tool_choice: choice }) }
  if (choice.type === 'allowed_tools') {
    const allowed = new Set(choice.tools.map(({ name }) => name))
    const some = all.filter(({ function: { name } }) => allowed.has(name))
    if (some.length === 0) throw GatewayError.unsupportedParameter('tool_choice.tools', 'None of the allowed tools is among the `tools`.')
    return { tools: some, tool_choice: choice.mode }
  }
  if (choice.type !== 'function' && choice.type !== 'custom') return { tools: all }
  return { tools: all, tool_choice: { type: 'function', function: { name: choice.name } } }
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
    default: return []
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
