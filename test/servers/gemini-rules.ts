// What Gemini refuses although its parser takes it, in its own words where they are known.

interface Part {
  text?: string
  thoughtSignature?: string
  inlineData?: { mimeType?: string }
  fileData?: { fileUri?: string }
  functionCall?: { id?: string, name?: string }
  functionResponse?: { id?: string, name?: string }
}
interface Content { role?: string, parts?: Part[] }
interface Declaration { name?: string, parametersJsonSchema?: unknown }

/** A request that the parser has taken. */
export interface Parsed {
  contents?: Content[]
  systemInstruction?: Content
  tools?: { functionDeclarations?: Declaration[] }[]
  toolConfig?: { functionCallingConfig?: { mode?: string, allowedFunctionNames?: string[] } }
  generationConfig?: {
    candidateCount?: number
    stopSequences?: string[]
    presencePenalty?: number
    frequencyPenalty?: number
    responseLogprobs?: boolean
    logprobs?: number
    responseMimeType?: string
    responseJsonSchema?: unknown
    thinkingConfig?: { thinkingBudget?: number, thinkingLevel?: string }
  }
}

type Rule = (request: Parsed, model: string) => string | false | undefined

const isNew = (model: string): boolean => /^gemini-[3-9]/.test(model)

const contentRules: Rule[] = [
  ({ contents = [] }) => contents.length === 0 &&
    '* GenerateContentRequest.contents: contents is not specified',
  ({ contents = [] }) => contents.some(({ role }) => role !== undefined && role !== 'user' && role !== 'model') &&
    'Please use a valid role: user, model.',
  ({ contents = [] }) => contents.some(({ parts = [] }) => parts.length === 0) &&
    '* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.',
  ({ contents = [] }) => partsOf(contents).some(isBlank) &&
    "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field",
  ({ contents = [] }) => partsOf(contents).some(({ inlineData }) => inlineData?.mimeType === '') &&
    'Unable to process input image. mimeType is required.',
  ({ contents = [] }) => callsOutOfPlace(contents) &&
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
  ({ contents = [] }) => answersMissing(contents) &&
    'Please ensure that the number of function response parts is equal to the number of function call parts of ' +
    'the function call turn.',
  ({ contents = [] }, model) => isNew(model) && unsigned(contents) &&
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.',
  ({ systemInstruction }, model) => systemInstruction !== undefined && model.startsWith('gemma-') &&
    `Developer instruction is not enabled for models/${model}`
]

const toolRules: Rule[] = [
  ({ tools = [] }) => declarations(tools).some(({ name }) => !/^[A-Za-z_][\w.:-]{0,127}$/.test(name ?? '')) &&
    'GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name.',
  ({ tools = [] }) => declarations(tools)
    .map(({ parametersJsonSchema: schema }) => badSchema(schema)).find(message => message !== undefined),
  ({ toolConfig: { functionCallingConfig: { mode = 'AUTO', allowedFunctionNames = [] } = {} } = {} }) =>
    mode !== 'ANY' && mode !== 'VALIDATED' && allowedFunctionNames.length > 0 &&
    'allowed_function_names should only be set when function_calling_config.mode is ANY or VALIDATED.',
  ({ tools = [], toolConfig: { functionCallingConfig: { allowedFunctionNames = [] } = {} } = {} }) =>
    allowedFunctionNames.some(name => !declarations(tools).some(one => one.name === name)) &&
    'allowed_function_names should be a subset of the declared functions.',
  ({ tools = [], generationConfig }, model) => !isNew(model) && declarations(tools).length > 0 &&
    generationConfig?.responseMimeType === 'application/json' &&
    "Function calling with a response mime type: 'application/json' is unsupported"
]

const configRules: Rule[] = [
  ({ generationConfig: { responseJsonSchema: schema } = {} }) => badSchema(schema),
  ({ generationConfig: { responseJsonSchema: schema, responseMimeType: type } = {} }) =>
    schema !== undefined && type !== 'application/json' && 'response_json_schema requires response_mime_type application/json',
  ({ generationConfig: { candidateCount = 1 } = {} }) => (candidateCount < 1 || candidateCount > 8) &&
    "Invalid value at 'generation_config.candidate_count': must be from 1 to 8.",
  ({ generationConfig: { stopSequences = [] } = {} }) => stopSequences.length > 5 &&
    'At most 5 stop sequences are allowed.',
  ({ generationConfig: { logprobs, responseLogprobs } = {} }) => logprobs !== undefined &&
    responseLogprobs !== true && 'logprobs requires response_logprobs to be true.',
  ({ generationConfig: { presencePenalty, frequencyPenalty } = {} }, model) =>
    model.startsWith('gemini-2.5') && (presencePenalty ?? frequencyPenalty) !== undefined && `Penalty is not enabled for models/${model}`,
  ({ generationConfig: { thinkingConfig } = {} }, model) => thinkingConfig !== undefined &&
    /^(gemini-2\.0|gemma)/.test(model) && 'Thinking is not enabled for this model.',
  ({ generationConfig: { thinkingConfig: { thinkingBudget, thinkingLevel } = {} } = {} }) =>
    thinkingBudget !== undefined && thinkingLevel !== undefined &&
    'You can only set only one of thinking budget and thinking level.',
  ({ generationConfig: { thinkingConfig: { thinkingLevel } = {} } = {} }, model) =>
    thinkingLevel !== undefined &&
    (!isNew(model) || (/^gemini-\d[\d.]*-pro/.test(model) && thinkingLevel === 'MINIMAL')) &&
    `Thinking level ${thinkingLevel} is not supported for this model.`,
  ({ generationConfig: { thinkingConfig: { thinkingBudget: budget } = {} } = {} }, model) =>
    budget !== undefined && model.startsWith('gemini-2.5-pro') && (budget < 128 || budget > 32_768) &&
    `The thinking budget ${budget} is invalid. Please choose a value between 128 and 32768.`
]

const rules: readonly Rule[] = [...contentRules, ...toolRules, ...configRules]

/** Why a model refuses a request; null when it does not. */
export function refusalOf (request: Parsed, model: string): string | null {
  for (const rule of rules) {
    const message = rule(request, model)
    if (typeof message === 'string') return message
  }
  return null
}

const declarations = (tools: NonNullable<Parsed['tools']>): Declaration[] =>
  tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations)

function isBlank ({ text, inlineData, fileData, functionCall, functionResponse }: Part): boolean {
  const others = [inlineData, fileData, functionCall, functionResponse]
  return (text ?? '') === '' && others.every(one => one === undefined)
}

const partsOf = (contents: Content[]): Part[] => contents.flatMap(({ parts = [] }) => parts)
const callsOf = ({ parts = [] }: Content): Part[] =>
  parts.filter(({ functionCall }) => functionCall !== undefined)
const answersOf = ({ parts = [] }: Content): Part[] =>
  parts.filter(({ functionResponse }) => functionResponse !== undefined)

function callsOutOfPlace (contents: Content[]): boolean {
  return contents.some((content, index) => callsOf(content).length > 0 && contents[index - 1]?.role !== 'user')
}

/** Each call of a turn must be answered in the next one, under its own name and id. */
function answersMissing (contents: Content[]): boolean {
  return contents.some((content, index) => {
    const label = (one?: { id?: string, name?: string }): string => `${one?.name} ${one?.id}`
    const asked = callsOf(content).map(({ functionCall }) => label(functionCall)).sort()
    const next = contents[index + 1]
    const answers = next === undefined ? [] : answersOf(next)
    const answered = answers.map(({ functionResponse }) => label(functionResponse)).sort()
    if (content.role !== 'model') return index === 0 && answersOf(content).length > 0
    return asked.join() !== answered.join()
  })
}

/** In the turns since the user last said something, the first call of each must be signed. */
function unsigned (contents: Content[]): boolean {
  const lastSaid = contents.findLastIndex(({ role, parts = [] }) => {
    return role === 'user' && parts.some(({ text }) => text !== undefined)
  })
  return contents.slice(lastSaid + 1).some(content => {
    const [first] = callsOf(content)
    return first !== undefined && (first.thoughtSignature ?? '') === ''
  })
}

const unknownWords = ['const', 'definitions', '$schema']

/** What is in a JSON schema that Gemini does not read. */
function badSchema (schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  if (!Array.isArray(schema)) {
    const keys = Object.keys(schema)
    const word = unknownWords.find(key => keys.includes(key))
    if (word !== undefined) return `Unknown keyword ${word} in schema.`
    if (keys.includes('$ref') && keys.some(key => !key.startsWith('$'))) return 'Nothing may stand beside $ref.'
  }
  for (const value of Object.values(schema)) {
    const found = badSchema(value)
    if (found !== undefined) return found
  }
  return undefined
}
