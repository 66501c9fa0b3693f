import {
  ChatCompletionRequest, type ChatCompletion, type ChatCompletionChunk
} from '../../schemas/openai/chat-completions.ts'
import type { Completion, CompletionRequest } from '../../schemas/openai/completions.ts'
import { samplingFields } from '../../schemas/openai/sampling.ts'
import type { CompletionUsage } from '../../schemas/openai/usage.ts'
import { GatewayError } from '../shared/errors.ts'
import { JsonText } from '../shared/json.ts'
import { outputLimitOf } from '../shared/request-fields.ts'
import type { ChatResponse, ChatProvider, CompletionResponse, CompletionCall } from '../providers/provider.ts'
import { createReport, type StreamReport } from '../providers/report.ts'
import { eventsIn } from '../providers/upstream/sse.ts'

/** Prompts in one request; each becomes one chat request. */
const maxPrompts = 20
/** The default of the legacy endpoint; chat has none. */
const defaultMaxTokens = 16

/**
 * Legacy text completions for a provider that only chats: each prompt is one user message. Throws a 400
 * GatewayError for what chat has no equivalent of. Choices are numbered prompt by prompt, as OpenAI does.
 */
export async function completeByChat (
  provider: ChatProvider, call: CompletionCall
): Promise<CompletionResponse> {
  const prompts = legacyPrompts(call.body)
  refuseUnmappable(call.body)
  const calls = prompts.map(prompt => {
    const body = chatRequest(call.body, prompt)
    return { ...call, body, rawBody: JsonText.from(body) }
  })
  const parts: NonNullable<StreamReport['calls']> = []
  const report = { ...createReport(), calls: parts }

  /** Calls the provider for one prompt; undefined if there is no such prompt. */
  async function callFor (index: number): Promise<ChatResponse | undefined> {
    const next = calls[index]
    if (next === undefined) return undefined
    const part = { request: next.body, report: createReport() }
    parts.push(part)
    try {
      const response = await provider.chat(next)
      part.report = response.report
      report.dropped = [...new Set([...report.dropped, ...response.report.dropped])]
      return response
    } catch (error) {
      // A prompt at which the provider failed is free, but not one that it read before the client left.
      if (!next.signal.aborted) parts.splice(parts.indexOf(part), 1)
      throw error
    }
  }

  const choicesPerPrompt = call.body.n ?? 1
  if (call.body.stream === true) {
    return { kind: 'chunks', chunks: streamAll(callFor, choicesPerPrompt, report), report }
  }
  const responses = await Promise.all(calls.map((_, index) => callFor(index)))
  const body = mergeResponses(responses.filter(result => result !== undefined), choicesPerPrompt)
  Object.assign(report, totalOf(parts))
  return { kind: 'json', body, text: null, report }
}

/** A legacy completion as one chat, to choose its model. Throws a 400 GatewayError like `completeByChat`. */
export function toRoutedChat (request: CompletionRequest): ChatCompletionRequest {
  const prompts = legacyPrompts(request)
  refuseUnmappable(request)
  const chat = chatRequest(request, prompts.join('\n\n'))
  return { ...chat, n: (request.n ?? 1) * prompts.length }
}

/** The prompts as texts. Throws GatewayError 400 for tokens, or too many. */
export function legacyPrompts ({ prompt }: CompletionRequest): string[] {
  const prompts = !Array.isArray(prompt) ? [prompt ?? ''] : prompt.length === 0 ? [''] : prompt
  if (!prompts.every(one => typeof one === 'string')) {
    throw unmappable('prompt', 'token prompts; send text')
  }
  if (prompts.length > maxPrompts) throw unmappable('prompt', `more than ${maxPrompts} prompts in one request`)
  return prompts
}

function refuseUnmappable ({ echo, suffix, best_of: bestOf, logprobs }: CompletionRequest): void {
  if (echo === true) throw unmappable('echo', 'echo')
  if (suffix !== undefined && suffix !== null && suffix !== '') throw unmappable('suffix', 'a suffix')
  if (bestOf !== undefined && bestOf !== null && bestOf > 1) throw unmappable('best_of', 'best_of above 1')
  if (logprobs !== undefined && logprobs !== null) throw unmappable('logprobs', 'logprobs')
}

function unmappable (param: string, what: string): GatewayError {
  const message = `The provider answers text completions of this model through chat, which cannot take ${what}.`
  return GatewayError.unsupportedParameter(param, message)
}

/** Fields that chat lacks. */
export const legacyFields = new Set(['prompt', 'echo', 'suffix', 'best_of', 'logprobs'])

/** Whether a field means the same in chat; other fields of chat have not been validated. */
function isShared (name: string): boolean {
  return name in samplingFields || !(legacyFields.has(name) || name in ChatCompletionRequest.properties)
}

/** The equivalent chat request, with the fields that both endpoints have and those that neither lists. */
function chatRequest (request: CompletionRequest, prompt: string): ChatCompletionRequest {
  return {
    ...Object.fromEntries(Object.entries(request).filter(([name]) => isShared(name))),
    model: request.model,
    messages: [{ role: 'user', content: prompt }],
    // Chat has no equivalent of 0.
    max_tokens: Math.max(1, outputLimitOf(request) ?? defaultMaxTokens),
    ...(request.stream === true ? { stream_options: { include_usage: true } } : {})
  }
}

function mergeResponses (responses: ChatResponse[], choicesPerPrompt: number): Completion {
  const bodies = responses.map(wholeBody)
  const first = bodies[0]
  return {
    id: legacyId(first?.id),
    object: 'text_completion',
    created: first?.created ?? Math.floor(Date.now() / 1000),
    model: first?.model ?? '',
    choices: bodies.flatMap((body, prompt) => body.choices.map(choice => ({
      text: choice.message.content ?? '',
      index: prompt * choicesPerPrompt + choice.index,
      logprobs: null,
      finish_reason: legacyReason(choice.finish_reason)
    }))),
    usage: sumUsage(bodies.map(body => body.usage))
  }
}

function wholeBody (response: ChatResponse): ChatCompletion {
  if (response.kind !== 'json') throw new TypeError('A request without stream was answered with one.')
  return response.body
}

/** The streams of all prompts, one after the other, as legacy chunks with one usage chunk at the end. */
async function * streamAll (
  callFor: (index: number) => Promise<ChatResponse | undefined>, choicesPerPrompt: number,
  report: StreamReport
): AsyncGenerator<Completion, void, undefined> {
  const usages: (CompletionUsage | null | undefined)[] = []
  let head: Omit<Completion, 'choices'> | undefined
  for (let prompt = 0; ; prompt++) {
    const response = await callFor(prompt)
    if (response === undefined) break
    let usage: CompletionUsage | null | undefined
    for await (const chunk of chunksOf(response)) {
      head ??= { id: legacyId(chunk.id), object: 'text_completion', created: chunk.created, model: chunk.model }
      // Some servers send their count so far with every chunk.
      usage = chunk.usage ?? usage
      const choices = chunk.choices.filter(choice => choice.finish_reason !== null || choice.delta.content)
      if (choices.length === 0) continue
      yield { ...head, choices: choices.map(choice => legacyChoice(choice, prompt * choicesPerPrompt)) }
    }
    usages.push(usage)
    report.model ??= response.report.model
  }
  Object.assign(report, totalOf(report.calls ?? []))
  if (head !== undefined) yield { ...head, choices: [], usage: sumUsage(usages) }
}

async function * chunksOf (response: ChatResponse): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  if (response.kind === 'json') throw new TypeError('A stream request was answered without one.')
  if (response.kind === 'chunks') return yield * response.chunks
  for await (const piece of response.events) {
    for (const { data } of eventsIn(Buffer.from(piece))) if (data !== '[DONE]') yield JSON.parse(data)
  }
}

function legacyChoice (
  choice: ChatCompletionChunk['choices'][number], offset: number
): Completion['choices'][number] {
  return {
    text: choice.delta.content ?? '',
    index: offset + choice.index,
    logprobs: null,
    finish_reason: choice.finish_reason === null ? null : legacyReason(choice.finish_reason)
  }
}

export function legacyReason (reason: string): 'stop' | 'length' | 'content_filter' {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop'
}

function legacyId (id: string | undefined): string {
  return (id ?? '').replace(/^(chatcmpl-)?/, 'cmpl-')
}

function sumUsage (usages: (CompletionUsage | null | undefined)[]): CompletionUsage {
  const total = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  for (const usage of usages) {
    total.prompt_tokens += usage?.prompt_tokens ?? 0
    total.completion_tokens += usage?.completion_tokens ?? 0
    total.total_tokens += usage?.total_tokens ?? 0
  }
  return total
}

/** The sum of what the calls report; null if one of them was not counted. */
function totalOf (calls: NonNullable<StreamReport['calls']>): Pick<StreamReport, 'model' | 'usage'> {
  const total = { prompt: 0, completion: 0 }
  for (const { report: { usage } } of calls) {
    total.prompt += usage?.prompt ?? 0
    total.completion += usage?.completion ?? 0
  }
  const isCounted = calls.every(({ report: { usage } }) => usage !== null)
  return { model: calls[0]?.report.model ?? null, usage: isCounted ? total : null }
}
