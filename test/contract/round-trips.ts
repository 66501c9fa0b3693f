import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import type { Gateway } from '../helpers/gateway.ts'
import { openAIResponses } from './responses/responses-client.ts'

/** A tool that the model may call; the client runs it and returns its result in its own way. */
export interface RunnableTool {
  name: string
  schema: { type: 'object', properties: Record<string, unknown> }
  run: (input: unknown) => string
}

export interface Question {
  model: string
  prompt: string
  /** As a data: URL. */
  image?: string
  tools?: RunnableTool[]
  effort?: 'low' | 'medium' | 'high'
  stream: boolean
}

/** The answer as the client reports it; the last one, if tools were called. */
export interface Heard {
  text: string
  reasoning: string
  /** OpenAI's value. */
  finish: string
  tokens: { prompt: number, completion: number }
}

/** The same tasks with one client, in its idiomatic way. */
export interface RoundTrip {
  /** Sends a prompt, and runs tools until the model answers. */
  ask (question: Question): Promise<Heard>
  /** Requests an object that follows a schema. */
  extract (model: string, prompt: string, schema: Record<string, unknown>): Promise<unknown>
  /** The status of a failed request as the client reports it. */
  failure (model: string): Promise<number | undefined>
}

type Address = Pick<Gateway, 'url' | 'key'>

/** The client that drops every field that is not OpenAI's. */
export const forgetful = 'openai, forgetful'

/** The most common clients, without retries. */
export const roundTrips: Readonly<Record<string, (gateway: Address) => RoundTrip>> = {
  openai: openAI,
  'openai responses': openAIResponses,
  'vercel ai': vercelAI,
  [forgetful]: address => openAI(address, withoutExtras)
}

type Message = OpenAI.ChatCompletionMessage

/** The message of a client that rebuilds tool calls from id, name and arguments. */
function withoutExtras ({ role, content, refusal, tool_calls: calls }: Message): Message {
  const message = { role, content, refusal }
  if (calls === undefined) return message
  return {
    ...message,
    tool_calls: calls.flatMap(call => {
      if (call.type !== 'function') return []
      const { id, type, function: { name, arguments: text } } = call
      return { id, type, function: { name, arguments: text } }
    })
  }
}

function openAI ({ url, key }: Address, keep: (message: Message) => Message = message => message): RoundTrip {
  const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 })
  return {
    async ask ({ model, prompt, image, tools = [], effort, stream }) {
      const parts = [{ type: 'text' as const, text: prompt }, ...imageParts(image)]
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: parts }]
      const functions = tools.map(({ name, schema }) => {
        return { type: 'function' as const, function: { name, parameters: { ...schema } } }
      })
      for (;;) {
        const body = {
          model, messages, reasoning_effort: effort, ...(tools.length === 0 ? {} : { tools: functions })
        }
        const { choices: [choice], usage } = stream
          ? await gatherOpenAI(client, body)
          : await client.chat.completions.create(body)
        if (choice === undefined) throw new Error('no choice')
        const { message, finish_reason: finish } = choice
        messages.push(keep(message))
        for (const call of message.tool_calls ?? []) {
          if (call.type !== 'function') throw new Error('no function')
          const content = runTool(tools, call.function.name, JSON.parse(call.function.arguments))
          messages.push({ role: 'tool', tool_call_id: call.id, content })
        }
        if (message.tool_calls !== undefined && message.tool_calls.length > 0) continue
        const tokens = { prompt: usage?.prompt_tokens ?? 0, completion: usage?.completion_tokens ?? 0 }
        const { reasoning_content: reasoning = '' }: typeof message & { reasoning_content?: string } = message
        return { text: message.content ?? '', reasoning, finish, tokens }
      }
    },
    async extract (model, prompt, schema) {
      const { choices } = await client.chat.completions.parse({
        model,
        messages: [{ role: 'user', content: prompt }],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
      })
      return JSON.parse(choices[0]?.message.content ?? '')
    },
    failure: model => statusOf(client.chat.completions.create({ model, messages: [{ role: 'user', content: 'x' }] }))
  }
}

function vercelAI ({ url, key }: Address): RoundTrip {
  const provider = createOpenAICompatible({
    name: 'tollgate', baseURL: url, apiKey: key, includeUsage: true, supportsStructuredOutputs: true
  })
  return {
    async ask ({ model, prompt, image, tools = [], effort, stream }) {
      const images = image === undefined ? [] : [{ type: 'image' as const, image }]
      const options = {
        model: provider(model),
        messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: prompt }, ...images] }],
        tools: Object.fromEntries(tools.map(({ name, schema, run }) => {
          const execute = async (input: unknown) => run(input)
          return [name, tool({ inputSchema: jsonSchema(Object(schema)), execute })]
        })),
        stopWhen: stepCountIs(5),
        maxRetries: 0,
        providerOptions: { tollgate: effort === undefined ? {} : { reasoningEffort: effort } }
      }
      const answer = stream ? streamText({ ...options, onError () {} }) : await generateText(options)
      const last = (await answer.steps).at(-1)
      if (last === undefined) throw new Error('no step')
      const { text, reasoningText: reasoning = '', usage, finishReason } = last
      const tokens = { prompt: usage.inputTokens ?? 0, completion: usage.outputTokens ?? 0 }
      return { text, reasoning, finish: finishReason.replace('-', '_'), tokens }
    },
    async extract (model, prompt, schema) {
      const output = Output.object({ schema: jsonSchema(schema) })
      return (await generateText({ model: provider(model), prompt, output, maxRetries: 0 })).output
    },
    failure: model => statusOf(generateText({ model: provider(model), prompt: 'x', maxRetries: 0 }))
  }
}

/** A streamed answer as assembled by the client, except the thoughts, of which it keeps the last piece. */
async function gatherOpenAI (
  client: OpenAI, body: OpenAI.ChatCompletionCreateParamsNonStreaming
): Promise<OpenAI.ChatCompletion> {
  const options = { stream: true, stream_options: { include_usage: true } } as const
  const runner = client.chat.completions.stream({ ...body, ...options })
  let thought = ''
  runner.on('chunk', ({ choices: [choice] }) => {
    const { reasoning_content: piece = '' }: { reasoning_content?: string, role?: string } = choice?.delta ?? {}
    thought += piece
  })
  const completion = await runner.finalChatCompletion()
  Object.assign(completion.choices[0]?.message ?? {}, { reasoning_content: thought })
  return completion
}

function imageParts (image: string | undefined) {
  return image === undefined ? [] : [{ type: 'image_url' as const, image_url: { url: image } }]
}

export function runTool (tools: RunnableTool[], name: string, input: unknown): string {
  const found = tools.find(tool => tool.name === name)
  if (found === undefined) throw new Error(`the model called ${name}, which does not exist`)
  return found.run(input)
}

export async function statusOf (work: Promise<unknown>): Promise<number | undefined> {
  try {
    await work
  } catch (error) {
    const { status, statusCode } = Object(error)
    return status ?? statusCode
  }
  return undefined
}
