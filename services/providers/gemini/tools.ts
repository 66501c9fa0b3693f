import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { FunctionDefinition } from '../../../schemas/openai/chat-tools.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { geminiSchema } from './schema.ts'
import { unsupportedField, type FunctionCallingConfig, type FunctionDeclaration, type GenerateContentRequest } from './wire.ts'

type Tools = Pick<GenerateContentRequest, 'tools' | 'toolConfig'>

/** The functions a model may call, and whether it must. Throws UpstreamError (400) for other tools. */
export function toolsOf (request: ChatCompletionRequest): Tools {
  const { tools = [], functions = [] } = request
  const declared = [
    ...tools.map((tool, index) => {
      if (tool.type === 'function') return declarationOf(tool.function)
      throw unsupportedField('This model\'s provider supports only function tools.', `tools[${index}].type`)
    }),
    ...functions.map(declarationOf)
  ]
  if (declared.length === 0) return {}
  const isStrict = tools.some(tool => tool.type === 'function' && tool.function.strict === true)
  const config = choiceOf(request) ?? { mode: 'AUTO' }
  if (config.mode === 'AUTO' && isStrict) config.mode = 'VALIDATED'
  return {
    tools: [{ functionDeclarations: declared }],
    ...(config.mode === 'AUTO' ? {} : { toolConfig: { functionCallingConfig: config } })
  }
}

function declarationOf ({ name, description, parameters }: FunctionDefinition): FunctionDeclaration {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    // The API refuses an object without properties, so such a function is declared without a schema.
    ...(parameters === undefined || isEmpty(parameters)
      ? {}
      : { parametersJsonSchema: geminiSchema(parameters) })
  }
}

/** Keywords of a schema that declares no parameter. */
const frame = new Set([
  '$schema', 'type', 'title', 'description', 'properties', 'required', 'additionalProperties'
])

function isEmpty (schema: JsonObject): boolean {
  const { properties, additionalProperties = false } = schema
  const none = properties === undefined || (isObject(properties) && Object.keys(properties).length === 0)
  return none && additionalProperties === false && Object.keys(schema).every(key => frame.has(key))
}

const modes = { none: 'NONE', auto: 'AUTO', required: 'ANY' } as const

function choiceOf (
  { tool_choice: choice, function_call: legacy }: ChatCompletionRequest
): FunctionCallingConfig | null {
  if (choice === undefined) {
    if (legacy === undefined) return null
    return typeof legacy === 'string' ? { mode: modes[legacy] } : only([legacy.name])
  }
  if (typeof choice === 'string') return { mode: modes[choice] }
  if (choice.type === 'function') return only([choice.function.name])
  if (choice.type === 'custom') {
    throw unsupportedField('This model\'s provider supports only function tools.', 'tool_choice')
  }
  const names = choice.allowed_tools.tools.map(namedFunction)
  return choice.allowed_tools.mode === 'required' ? only(names) : { ...only(names), mode: 'VALIDATED' }
}

const only = (names: string[]): FunctionCallingConfig => ({ mode: 'ANY', allowedFunctionNames: names })

function namedFunction (tool: JsonObject): string {
  const { name } = isObject(tool.function) ? tool.function : tool
  if (typeof name === 'string') return name
  throw unsupportedField('Each allowed tool must be a function with a name.', 'tool_choice')
}
