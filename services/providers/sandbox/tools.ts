import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { UpstreamError } from '../../shared/errors.ts'
import type { ChatContext } from './chat-context.ts'
import { extractValues } from './prompt-values.ts'
import { samplePattern } from './sample-pattern.ts'
import { sampleSchema } from './sample-schema.ts'
import { matchTools, type DeclaredTool, type ToolForm } from './match-tools.ts'
import { isUnsafe, noCommand } from './unsafe-tools.ts'

/** A tool call of the reply; `input` is the arguments as JSON, or the text for a custom tool. */
export interface PlannedCall { form: ToolForm, name: string, input: string }

/**
 * Plans the tool calls of a reply: the named tool, the tools the user's text asks for, or the first one if a
 * call is required. After a tool result no tool is called unless forced. An unsafe tool is called only if a
 * call is required and no other tool can be. Throws UpstreamError if the request forces a tool it does not
 * declare.
 */
export function planCalls (
  request: ChatCompletionRequest, context: ChatContext, variant: number
): PlannedCall[] {
  const { mode, among } = choiceOf(request)
  if (mode === 'none') return []
  if (mode === 'auto' && context.toolResults.length > 0) return []
  const safe = among.filter(tool => !isUnsafe(tool))
  const matched = matchTools(safe, context.readText)
  const chosen = matched.length === 0 && mode === 'required' ? [...safe, ...among].slice(0, 1) : matched
  const single = request.parallel_tool_calls === false || chosen[0]?.form === 'legacy'
  return (single ? chosen.slice(0, 1) : chosen).map(tool => plan(tool, context, variant))
}

interface Choice { mode: 'none' | 'auto' | 'required', among: DeclaredTool[] }

function choiceOf (request: ChatCompletionRequest): Choice {
  const declared = declaredTools(request)
  const choice = request.tool_choice ?? request.function_call ?? 'auto'
  const param = request.tool_choice === undefined ? 'function_call' : 'tool_choice'
  if (choice === 'required' && declared.length === 0) throw unknownTool(param, 'a tool')
  if (typeof choice === 'string') return { mode: choice, among: declared }
  if ('allowed_tools' in choice) {
    const { mode, tools } = choice.allowed_tools
    return { mode, among: tools.flatMap(tool => named(nameOf(tool), declared, param)) }
  }
  return { mode: 'required', among: named(nameOf(choice), declared, param) }
}

function declaredTools ({ tools = [], functions = [] }: ChatCompletionRequest): DeclaredTool[] {
  const modern = tools.map((tool): DeclaredTool => {
    if (tool.type === 'function') return { form: 'function', pattern: null, ...describe(tool.function) }
    const { format } = tool.custom
    const regex = format?.type === 'grammar' && format.grammar.syntax === 'regex' ? format.grammar.definition : null
    return { form: 'custom', pattern: regex, ...describe(tool.custom) }
  })
  const legacy = functions.map((definition): DeclaredTool =>
    ({ form: 'legacy', pattern: null, ...describe(definition) }))
  return [...modern, ...legacy]
}

type Description = Pick<DeclaredTool, 'name' | 'description' | 'parameters'>

const describe = ({ name, description = '', parameters = {} }: Partial<Description> & { name: string }): Description =>
  ({ name, description, parameters })

function named (name: string, declared: DeclaredTool[], param: string): DeclaredTool[] {
  const tool = declared.find(tool => tool.name === name)
  if (tool === undefined) throw unknownTool(param, `'${name}'`)
  return [tool]
}

// The name is under the tool's type, or at the top level in the deprecated form.
function nameOf (choice: object): string {
  for (const holder of [Reflect.get(choice, 'function'), Reflect.get(choice, 'custom'), choice]) {
    if (typeof holder === 'object' && holder !== null && 'name' in holder) return String(holder.name)
  }
  return ''
}

function unknownTool (param: string, what: string): UpstreamError {
  const message = `Invalid value for '${param}': the request does not declare ${what}.`
  const details = { status: 400, type: 'invalid_request_error', param, code: 'invalid_value' }
  return new UpstreamError('bad_request', 'no', message, details)
}

function plan (tool: DeclaredTool, { readText }: ChatContext, variant: number): PlannedCall {
  const unsafe = isUnsafe(tool)
  const values = extractValues(unsafe ? '' : readText)
  const { form, name } = tool
  if (tool.pattern !== null) return { form, name, input: samplePattern(tool.pattern) }
  if (form === 'custom') return { form, name, input: unsafe ? noCommand : values.quotes[0] ?? (readText || 'sample input') }
  return { form, name, input: JSON.stringify(sampleSchema({ type: 'object', ...tool.parameters }, values, variant)) }
}
