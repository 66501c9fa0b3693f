import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { request } from 'undici'
import type { GatewayConfig, ModelConfig, ProviderConfig } from '../../services/config/catalogue/types.ts'
import { openStore } from '../../services/store/open.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../helpers/gateway.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { pastDeadline } from '../helpers/timeouts.ts'
import { encode, errorBody, replay, startAnthropic } from '../servers/anthropic.ts'
import { says, startGemini } from '../servers/gemini.ts'
import { document, events, finish, head, send, sequence, startUpstream, type Script, type Upstream } from '../servers/upstream.ts'
import { emptyPrice } from '../../services/config/catalogue/models.ts'

/** 1000 nano-USD per token of the prompt, 4000 per token of the answer. */
const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }

export const messages = [{ role: 'user', content: 'Hello, world!' }]

/** How an answer ends: properly, with an error event, or as a script of the connection does it. */
export type End = 'complete' | 'error' | Script

/** The pieces of an answer and how it ends, in the words of one provider. */
export interface Speech {
  /** The words, one chunk each; each is one token. */
  words: number
  end: End
  /** Where the provider counts; it counts 2500 tokens of the prompt, and seven tokens more than the words. */
  counts: boolean
}

export const counted = { prompt: 2500, beyondWords: 7 }

/** A provider of one protocol behind a gateway. */
export interface Protocol {
  name: string
  open (): Promise<Upstream>
  provider: Partial<ProviderConfig>
  baseUrl (upstream: Upstream): string
  model: string
  stream (speech: Speech): Script
  whole (speech: Omit<Speech, 'end'>): Script
  /** What is known for sure when a stream that counts breaks off. */
  knownEarly: 'nothing' | 'prompt' | 'all'
}

const word = ' word'
const list = (count: number) => Array.from({ length: count }, () => word)

function openaiUsage (completion: number) {
  const { prompt } = counted
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

const failure = { error: { message: 'It failed.', type: 'server_error', code: null, param: null } }

/** Words in one field of the delta of OpenAI's chunks; `isEager`: usage comes with every chunk. */
export function compatible (name: string, deltaOf: (text: string) => object, isEager = false): Protocol {
  const envelope = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const chunk = (delta: object, reason: string | null = null) =>
    ({ ...envelope, choices: [{ index: 0, delta, finish_reason: reason }] })
  return {
    name,
    open: () => startUpstream(),
    provider: {},
    baseUrl: ({ url }) => url,
    model: 'gpt-5-nano',
    knownEarly: isEager ? 'all' : 'nothing',
    stream ({ words, end, counts }) {
      const total = words + counted.beyondWords
      const usageSoFar = (spoken: number) => isEager && counts ? { usage: openaiUsage(spoken) } : {}
      const spoken = [
        { ...chunk({ role: 'assistant', content: '' }), ...usageSoFar(0) },
        ...list(words).map((text, index) => {
          return { ...chunk(deltaOf(text)), ...usageSoFar(index + 1 + counted.beyondWords) }
        })
      ]
      const closing = [chunk({}, 'stop'), ...counts ? [{ ...envelope, choices: [], usage: openaiUsage(total) }] : []]
      const all = end === 'complete'
        ? events([...spoken, ...closing])
        : events(end === 'error' ? [...spoken, failure] : spoken).slice(0, -1)
      return sequence(
        head({ 'content-type': 'text/event-stream' }), send(all.map(event => Buffer.from(event))),
        typeof end === 'function' ? end : finish)
    },
    whole: ({ words, counts }) => document(JSON.stringify({
      ...envelope,
      object: 'chat.completion',
      choices: [{
        index: 0,
        message: { role: 'assistant', content: null, ...deltaOf(word.repeat(words)) },
        finish_reason: 'stop'
      }],
      ...counts ? { usage: openaiUsage(words + counted.beyondWords) } : {}
    }))
  }
}

const anthropicUsage = (output: number) => ({
  input_tokens: counted.prompt - 500,
  cache_read_input_tokens: 500,
  cache_creation_input_tokens: 0,
  output_tokens: output
})

export const anthropic: Protocol = {
  name: 'anthropic',
  open: () => startAnthropic(),
  provider: { protocol: 'anthropic', apiKey: 'sk-ant-secret' },
  baseUrl: ({ url }) => url,
  model: 'claude-sonnet-4-6',
  knownEarly: 'prompt',
  stream ({ words, end, counts }) {
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-6', content: [] }
    const spoken = [
      { type: 'message_start', message: { ...message, ...counts ? { usage: anthropicUsage(1) } : {} } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...list(words).map(text => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }))
    ]
    const closing = [
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        ...counts ? { usage: anthropicUsage(words + counted.beyondWords) } : {}
      },
      { type: 'message_stop' }
    ]
    const all = end === 'complete' ? [...spoken, ...closing] : end === 'error' ? [...spoken, errorBody(529)] : spoken
    return typeof end === 'function'
      ? sequence(
        head({ 'content-type': 'text/event-stream' }), send(all.map(event => Buffer.from(encode(event)))), end)
      : replay(all)
  },
  whole: ({ words, counts }) => document(JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    content: [{ type: 'text', text: word.repeat(words) }],
    stop_reason: 'end_turn',
    ...counts ? { usage: anthropicUsage(words + counted.beyondWords) } : {}
  }))
}

export const gemini: Protocol = {
  name: 'gemini',
  open: () => startGemini(),
  provider: { protocol: 'gemini', apiKey: 'gm-key' },
  baseUrl: upstream => `${new URL(upstream.url).origin}/v1beta`,
  model: 'gemini-3.5-flash',
  knownEarly: 'all',
  stream ({ words, end, counts }) {
    const { prompt: promptTokenCount, beyondWords: thoughtsTokenCount } = counted
    const usage = (candidatesTokenCount: number) => {
      return counts ? { usageMetadata: { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } } : {}
    }
    const responses = list(words).map((text, index) => ({
      candidates: [{
        content: { role: 'model', parts: [{ text }] },
        index: 0,
        ...end === 'complete' && index === words - 1 ? { finishReason: 'STOP' as const } : {}
      }],
      modelVersion: 'gemini-3.5-flash',
      ...usage(index + 1)
    }))
    const error = 'data: {"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}}\r\n\r\n'
    return says(responses, {
      events: all => end === 'error' ? [...all, error] : all, end: typeof end === 'function' ? end : finish
    })
  },
  whole: speech => gemini.stream({ ...speech, end: 'complete' })
}

export interface Booked { amount: number, estimated: number, usage: { prompt: number, completion: number } }

export type Shop = Awaited<ReturnType<typeof openShop>>

/** A gateway that sells one model of the provider, with its books in a file that outlasts it. */
export async function openShop (
  t: Test, protocol: Protocol, model: Partial<ModelConfig> = {}, env: Record<string, string> = {},
  requests: Partial<GatewayConfig['requests']> = {}
) {
  const upstream = await protocol.open()
  t.teardown(() => upstream.close().catch(() => {}))
  const database = `sqlite:${join(await temporaryFolder(t), 'books.sqlite')}`
  // A busy machine must not cause time-outs.
  const timeouts = { connectMs: 5000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 120_000 }
  const provider = providerAt(protocol.baseUrl(upstream), { timeouts, ...protocol.provider })
  const deployments = [{ provider: provider.id, model: protocol.model, weight: 1, priority: 0 }]
  const usual = configFor(provider, { deployments, price, maxOutput: 4096, contextWindow: 200_000, ...model })
  const config = { ...usual, requests: { ...usual.requests, ...requests } }
  const books = { TOLLGATE_STARTING_CREDIT: '10', DATABASE_URL: database }
  const gateway = await startGateway(t, { config, env: { ...books, ...env } })
  return { upstream, gateway, database }
}

/** Sends a request that can be abandoned by `signal`. */
export function ask (
  { gateway }: { gateway: Gateway }, body: object, { path = '/chat/completions', signal, headers = {} }:
  { path?: string, signal?: AbortSignal, headers?: Record<string, string> } = {}
) {
  return request(gateway.url + path, {
    method: 'POST',
    headers: { ...gateway.headers, ...headers },
    body: JSON.stringify({ model: 'chat', messages, max_tokens: 4000, ...body }),
    ...(signal === undefined ? {} : { signal })
  })
}

/** The shop as `pastDeadline` sees it, which may be opened by it. */
export function pairOf (shop: () => Shop | undefined): Parameters<typeof pastDeadline>[0] {
  return {
    calls: () => shop()?.upstream.requests.length ?? 0,
    isBusy: () => (shop()?.gateway.app.load.counts.requests ?? 0) > 0
  }
}

/** Sends a request whose deadline passes during its call of the provider. */
export async function askPastDeadline (shop: Shop, body: object, more: Record<string, string> = {}) {
  return await pastDeadline(pairOf(() => shop), async deadlineMs => {
    const withDeadline = { ...more, 'x-tollgate-deadline-ms': String(deadlineMs) }
    const { statusCode, headers, body: received } = await ask(shop, body, { headers: withDeadline })
    return { statusCode, id: String(headers['x-request-id']), text: await received.text() }
  })
}

/** Reads a stream until `count` words have come; returns what reads the rest. */
export async function readWords (
  body: AsyncIterable<Uint8Array>, count: number
): Promise<() => Promise<string>> {
  const pieces = body[Symbol.asyncIterator]()
  let text = ''
  const readUntil = async (isEnough: () => boolean): Promise<void> => {
    while (!isEnough()) {
      const piece = await pieces.next()
      if (piece.done === true) return
      text += Buffer.from(piece.value).toString()
    }
  }
  await readUntil(() => text.split(word).length > count)
  return async () => {
    await readUntil(() => false)
    return text
  }
}

/** The usage entries, once there are `count` of them and no more than `open` holds, and what is held. */
export async function booksOf (
  { gateway, database }: Shop, count: number, open = 0
): Promise<{ entries: Booked[], held: number }> {
  const isOpen = gateway.app.server.listening
  const store = isOpen ? gateway.app.store : await openStore(database)
  for (;;) {
    if (isOpen) await gateway.app.ledger.flush()
    const rows = await store.all<Omit<Booked, 'usage'> & { usage: string }>(
      "select amount, estimated, usage from entry where kind = 'usage' order by seq")
    const [account] = await store.all<{ held: number }>('select sum(held) as held from account')
    const held = isOpen ? gateway.app.ledger.openHoldCount : account?.held ?? 0
    if (rows.length >= count && held <= open) {
      if (!isOpen) await store.close()
      return { entries: rows.map(row => ({ ...row, usage: JSON.parse(row.usage) })), held }
    }
    await sleep(20)
  }
}

/** What usage costs at the price of the shop. */
export function costOf ({ prompt, completion }: Booked['usage']): number {
  return prompt * 1000 + completion * 4000
}
