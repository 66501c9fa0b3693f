/** A type of protobuf's JSON form: a scalar, an enum, a list of one type, or a message with its fields. */
export type FieldType =
  | 'string' | 'int32' | 'number' | 'bool' | 'bytes' | 'struct' | 'value' | ReadonlySet<string> |
  readonly [FieldType] | Message
export interface Message { readonly [field: string]: FieldType }

const anEnum = (...names: string[]): ReadonlySet<string> => new Set(names)

const blob: Message = { mimeType: 'string', data: 'bytes' }

const part: Message = {
  text: 'string',
  thought: 'bool',
  thoughtSignature: 'bytes',
  inlineData: blob,
  fileData: { mimeType: 'string', fileUri: 'string' },
  functionCall: { id: 'string', name: 'string', args: 'struct' },
  functionResponse: { id: 'string', name: 'string', response: 'struct' }
}

export const content: Message = { role: 'string', parts: [part] }

const declaration: Message = {
  name: 'string', description: 'string', parametersJsonSchema: 'value', responseJsonSchema: 'value'
}

const generationConfig: Message = {
  maxOutputTokens: 'int32',
  temperature: 'number',
  topP: 'number',
  topK: 'int32',
  candidateCount: 'int32',
  stopSequences: ['string'],
  seed: 'int32',
  presencePenalty: 'number',
  frequencyPenalty: 'number',
  responseLogprobs: 'bool',
  logprobs: 'int32',
  responseMimeType: anEnum('text/plain', 'application/json', 'text/x.enum'),
  responseJsonSchema: 'value',
  responseModalities: [anEnum('TEXT', 'IMAGE', 'AUDIO')],
  thinkingConfig: {
    includeThoughts: 'bool',
    thinkingBudget: 'int32',
    thinkingLevel: anEnum('THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH')
  }
}

/** `GenerateContentRequest`, as far as a chat needs it. Source: @google/genai 3.1.0. */
export const generateContentRequest: Message = {
  contents: [content],
  systemInstruction: content,
  tools: [{ functionDeclarations: [declaration] }],
  toolConfig: {
    functionCallingConfig: {
      mode: anEnum('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'), allowedFunctionNames: ['string']
    }
  },
  generationConfig
}

/** What is wrong with a JSON value as a message, in the words of Google's parser; null when nothing is. */
export function fault (value: unknown, type: FieldType, path = ''): string | null {
  if (Array.isArray(type)) {
    if (!Array.isArray(value)) return mismatch(value, path)
    return firstOf(value, (item, index) => fault(item, type[0], `${path}[${index}]`))
  }
  if (type instanceof Set) return type.has(value) ? null : mismatch(value, path)
  if (typeof type === 'object' && !(Symbol.iterator in type)) return faultOfMessage(value, type, path)
  return typeof type === 'string' && scalars[type]?.(value) === true ? null : mismatch(value, path)
}

function faultOfMessage (value: unknown, type: Message, path: string): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return mismatch(value, path)
  return firstOf(Object.entries(value), ([name, field]) => {
    const known = type[name]
    const at = path === '' ? '' : ` at '${path.replace(/^\./, '')}'`
    if (known === undefined) return `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`
    return fault(field, known, `${path}.${name}`)
  })
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

const scalars: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  int32: value => typeof value === 'number' && (value | 0) === value,
  number: value => typeof value === 'number',
  bool: value => typeof value === 'boolean',
  // Base64 of either alphabet; no length leaves one character over.
  bytes: value => typeof value === 'string' && /^([\w+/-]{4})*([\w+/-]{2,3}={0,2})?$/.test(value),
  struct: isObject,
  value: () => true
}

const mismatch = (value: unknown, path: string): string =>
  `Invalid value at '${path.replace(/^\./, '')}', ${JSON.stringify(value)}`

function firstOf<Item> (
  items: readonly Item[], look: (item: Item, index: number) => string | null
): string | null {
  for (const [index, item] of items.entries()) {
    const found = look(item, index)
    if (found !== null) return found
  }
  return null
}
