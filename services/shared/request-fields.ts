import { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import { CompletionRequest } from '../../schemas/openai/completions.ts'
import { isObject, type JsonObject } from './json.ts'

/** A request field that the gateway's schemas do not list; it passes through to the provider. */
export interface ExtraField {
  /** From the top level, e.g. `['options', 'num_predict']`. */
  path: readonly string[]
  /** Its folded name. */
  name: string
  value: unknown
}

const listed: ReadonlySet<string> =
  new Set([...Object.keys(ChatCompletionRequest.properties), ...Object.keys(CompletionRequest.properties)])

/** Objects whose members some servers read as if they were at the top level. Folded. */
const containers: ReadonlySet<string> = new Set([
  // OpenAI's SDK flattens `extra_body` before sending; LiteLLM and Google's endpoint read it unflattened.
  'extrabody', 'google',
  // Ollama, TGI, NVIDIA NIM, Cerebras, Gemini, SGLang and Hugging Face.
  'options', 'parameters', 'nvext', 'modelparameters', 'generationconfig', 'samplingparams', 'modelkwargs'
])
/** Objects with the settings of a model's reasoning. */
const thoughtContainers: ReadonlySet<string> = new Set(['reasoning', 'thinking', 'thinkingconfig'])

const maxNesting = 3

/**
 * A name without case, `_` and `-`: servers in Go ignore the case of names, including U+017F for `s` and
 * U+212A for `k`; others accept snake case and camel case.
 */
export function foldName (name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll(/[_-]/g, '')
}

/** The fields of a request that the schemas do not list, and the members of containers among them. */
export function extraFields (request: object): readonly ExtraField[] {
  const found: ExtraField[] = []
  for (const [name, value] of Object.entries(request)) if (!listed.has(name)) collect(found, [name], value)
  return found
}

function collect (found: ExtraField[], path: readonly string[], value: unknown): void {
  const name = foldName(path.at(-1) ?? '')
  found.push({ path, name, value })
  if (!isObject(value) || path.length > maxNesting) return
  if (!containers.has(name) && !thoughtContainers.has(name)) return
  for (const [key, inner] of Object.entries(value)) collect(found, [...path, key], inner)
}

/** Whether a field is a setting of a model's reasoning, such as `reasoning.max_tokens`. */
function isAboutThoughts ({ path }: ExtraField): boolean {
  return path.length > 1 && thoughtContainers.has(foldName(path.at(-2) ?? ''))
}

/** The listed field that a server that ignores case reads instead of this one, or null. */
export function misspelledField ({ path }: ExtraField): string | null {
  const [name = ''] = path
  const lower = name.toUpperCase().toLowerCase()
  return path.length === 1 && listed.has(lower) ? lower : null
}

/** A copy of an object with the member at `path` replaced, or without it (undefined). */
export function withMember (
  of: JsonObject, [name = '', ...rest]: readonly string[], value: unknown
): JsonObject {
  const { [name]: before, ...others } = of
  const after = rest.length === 0 ? value : withMember(isObject(before) ? before : {}, rest, value)
  return after === undefined ? others : { ...others, [name]: after }
}

/**
 * Names of the output limit of servers, folded. Read in November 2026: llama.cpp
 * `server-schema.cpp` (`n_predict` counts before `max_completion_tokens`, that before `max_tokens`), vLLM and
 * SGLang `protocol.py`, Ollama `openai.go`, TGI and NeMo (`max_new_tokens`, `tokens_to_generate`), Gemini and
 * OpenAI's Responses (`max_output_tokens`), Anthropic's first API (`max_tokens_to_sample`), Llama on Bedrock
 * (`max_gen_len`), KoboldCpp and TabbyAPI (`max_length`).
 */
const limitNames: ReadonlySet<string> = new Set([
  'maxtokens', 'maxcompletiontokens', 'npredict', 'numpredict', 'maxnewtokens', 'maxoutputtokens', 'maxgeneratedtokens',
  'maxtokenstosample', 'tokenstogenerate', 'maxgenlen', 'maxlength'
])

/** The minimum of output tokens: vLLM, Cerebras, TGI, Transformers. */
const minimumNames: ReadonlySet<string> = new Set([
  'mintokens', 'mincompletiontokens', 'minnewtokens', 'minoutputtokens', 'minlength'
])

/** The limit of reasoning tokens: vLLM, llama.cpp, DashScope, NVIDIA NIM, Gemini, Anthropic, OpenRouter. */
const budgetNames: ReadonlySet<string> = new Set([
  'thinkingtokenbudget', 'reasoningbudgettokens', 'reasoningbudget', 'thinkingbudgettokens', 'thinkingbudget',
  'maxthinkingtokens', 'maxreasoningtokens', 'budgettokens'
])

type TextRequest = ChatCompletionRequest | CompletionRequest

/** The effect of a field on the length of a response, or null. */
export function lengthRole (field: ExtraField): 'limit' | 'minimum' | 'budget' | null {
  const { name } = field
  if (budgetNames.has(name)) return 'budget'
  if (limitNames.has(name)) return isAboutThoughts(field) ? 'budget' : 'limit'
  return minimumNames.has(name) ? 'minimum' : null
}

/** The number of prompts of a request; an empty list counts as one, because servers respond to it. */
export function promptsOf (request: TextRequest): number {
  if ('messages' in request) return 1
  const { prompt } = request
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1
}

/** The least output limit that the client has set, in tokens, or null. */
export function outputLimitOf (request: TextRequest): number | null {
  // A legacy completion has no `max_completion_tokens`, but llama.cpp reads it there too.
  const fields: { max_tokens?: unknown, max_completion_tokens?: unknown } = request
  let least = Math.min(limitIn(fields.max_tokens), limitIn(fields.max_completion_tokens))
  for (const field of extraFields(request)) {
    if (lengthRole(field) === 'limit') least = Math.min(least, limitIn(field.value))
  }
  return least === Infinity ? null : least
}

function limitIn (value: unknown): number {
  return typeof value === 'number' && value >= 0 ? value : Infinity
}

/** The output limit to send: the least of the client's and the gateway's, or null. */
export function effectiveLimit (
  { body, outputLimit }: { body: TextRequest, outputLimit: number | null }
): number | null {
  const wanted = outputLimitOf(body)
  return wanted === null || outputLimit === null ? wanted ?? outputLimit : Math.min(wanted, outputLimit)
}

/** Whether Google fetches a file itself, of any kind and length: Cloud Storage, its Files API and YouTube. */
export function isGoogleFile (url: string): boolean {
  return googleFile.test(url)
}

const googleFile =
  /^(gs:\/\/|https:\/\/(generativelanguage\.googleapis\.com\/v1beta\/files\/|(www\.)?youtube\.com\/watch\?|youtu\.be\/))/i
