import { readFileSync } from 'node:fs'
import Ajv2020 from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type {
  ChatCompletion, ChatCompletionChunk, ChatCompletionRequest
} from '../../../../schemas/openai/chat-completions.ts'
import { JsonText } from '../../../../services/shared/json.ts'
import type { ChatCall } from '../../../../services/providers/provider.ts'
import type { StreamReport } from '../../../../services/providers/report.ts'
import { createSandboxChat } from '../../../../services/providers/sandbox/chat.ts'

export type Fields = Partial<ChatCompletionRequest>

/** A sandbox without pauses. */
export const sandbox = createSandboxChat({ pieceMs: 0 })

export const ajv = formats.default(new Ajv2020.Ajv2020({ strict: false, allErrors: true }))

const schemaOf = (name: string): object =>
  JSON.parse(readFileSync(new URL(`../../../fixtures/openai-schemas/${name}.json`, import.meta.url), 'utf8'))

const validateCompletion = ajv.compile(schemaOf('CreateChatCompletionResponse'))
const validateChunk = ajv.compile(schemaOf('CreateChatCompletionStreamResponse'))

/** A call whose last user message is the given text, unless the fields bring messages of their own. */
export function callOf (text: string, fields: Fields = {}, signal = new AbortController().signal): ChatCall {
  const request: ChatCompletionRequest = {
    model: 'sandbox-chat', messages: [{ role: 'user', content: text }], ...fields
  }
  return {
    body: request,
    rawBody: JsonText.from(request),
    model: 'sandbox-chat',
    outputLimit: null,
    requestId: 'request-1',
    signal
  }
}

/** The whole answer, checked against OpenAI's schema. */
export async function complete (text: string, fields: Fields = {}): Promise<ChatCompletion> {
  const answer = await sandbox.chat(callOf(text, fields))
  if (answer.kind !== 'json') throw new Error(`The answer is ${answer.kind}.`)
  if (!validateCompletion(answer.body)) throw new Error(ajv.errorsText(validateCompletion.errors))
  return answer.body
}

/** All chunks of a streamed answer, each checked against OpenAI's schema, and the report they fill. */
export async function stream (
  text: string, fields: Fields = {}
): Promise<{ chunks: ChatCompletionChunk[], report: StreamReport }> {
  const answer = await sandbox.chat(callOf(text, { ...fields, stream: true }))
  if (answer.kind !== 'chunks') throw new Error(`The answer is ${answer.kind}.`)
  const chunks: ChatCompletionChunk[] = []
  for await (const chunk of answer.chunks) {
    if (!validateChunk(chunk)) throw new Error(ajv.errorsText(validateChunk.errors))
    chunks.push(chunk)
  }
  return { chunks, report: answer.report }
}

/** The text of the first choice. */
export async function reply (text: string, fields: Fields = {}): Promise<string> {
  const { choices } = await complete(text, fields)
  return choices[0]?.message.content ?? ''
}
