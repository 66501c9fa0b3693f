import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { FunctionTool } from '../../../schemas/openai/chat-tools.ts'
import { isObject } from '../../shared/json.ts'
import { cacheControlIn } from './convert-to-messages.ts'
import { unsupportedFeature } from '../refuse.ts'
import { adaptSchema } from './schema.ts'
import type { AnthropicTraits } from './model-traits.ts'
import type { AnthropicTool, AnthropicToolChoice, Turn } from './wire.ts'

interface Tools { tools?: AnthropicTool[], tool_choice?: AnthropicToolChoice }

/** The tools and tool choice of a request. Throws UpstreamError (400) for what the model cannot do. */
export function readTools (
  request: ChatCompletionRequest, turns: readonly Turn[], traits: AnthropicTraits, dropped: Set<string>
): Tools {
  if (request.functions !== undefined) throw unsupportedFeature('functions', '`functions`; use `tools`')
  const tools = allowed(request).map(tool => toTool(tool, traits, dropped))
  if (tools.length === 0) return pastTools(turns)
  const choice = toChoice(request, traits)
  return choice === undefined ? { tools } : { tools, tool_choice: choice }
}

function allowed ({ tools = [], tool_choice: choice }: ChatCompletionRequest): FunctionTool[] {
  const functions = tools.map((tool, at) => {
    if (tool.type === 'custom') throw unsupportedFeature(`tools[${at}]`, 'custom tools; use functions')
    return tool
  })
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return functions
  const chosen = choice.allowed_tools.tools.map(tool => isObject(tool.function) ? tool.function.name : null)
  const names = new Set(chosen)
  return functions.filter(tool => names.has(tool.function.name))
}

function toTool (tool: FunctionTool, traits: AnthropicTraits, dropped: Set<string>): AnthropicTool {
  const { name, description, parameters = {}, strict } = tool.function
  const adapted = strict === true && traits.structured ? adaptSchema(parameters) : null
  if (strict === true && adapted === null) dropped.add('tools[].function.strict')
  const control = cacheControlIn(tool, dropped) ?? cacheControlIn(tool.function, dropped)
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: { properties: {}, ...adapted ?? parameters, type: 'object' },
    ...(adapted === null ? {} : { strict: true }),
    ...(control === null ? {} : { cache_control: control })
  }
}

function toChoice (request: ChatCompletionRequest, traits: AnthropicTraits): AnthropicToolChoice | undefined {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request
  const single = parallel === false ? { disable_parallel_tool_use: true } : {}
  const mode = typeof choice === 'object' && choice.type === 'allowed_tools' ? choice.allowed_tools.mode : choice
  if (mode === 'none') return { type: 'none' }
  if (mode === undefined || mode === 'auto') return parallel === false ? { type: 'auto', ...single } : undefined
  if (!traits.forcedTools) throw unsupportedFeature('tool_choice', 'a forced tool for this model; use `auto`')
  if (mode === 'required') return { type: 'any', ...single }
  if (mode.type !== 'function') throw unsupportedFeature('tool_choice', 'custom tools; use functions')
  return { type: 'tool', name: mode.function.name, ...single }
}

/** Whether the model must call a tool. */
export function isForced ({ tool_choice: choice }: Tools): boolean {
  return choice?.type === 'any' || choice?.type === 'tool'
}

/** A conversation with past tool calls is refused without tools, so they are declared and not callable. */
function pastTools (turns: readonly Turn[]): Tools {
  const blocks = turns.flatMap(({ content }) => content)
  const names = new Set(blocks.flatMap(block => block.type === 'tool_use' ? [block.name] : []))
  if (names.size === 0) return {}
  const tools = [...names].map((name): AnthropicTool => ({ name, input_schema: { type: 'object', properties: {} } }))
  return { tools, tool_choice: { type: 'none' } }
}
