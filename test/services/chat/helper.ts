import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { emptyPrice, modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import type { RequestsConfig } from '../../../services/config/catalogue/types.ts'
import type { AutoModel } from '../../../services/chat/auto-model.ts'
import { createChat } from '../../../services/chat/serve-chat.ts'
import type { ProviderCalls } from '../../../services/chat/client-api.ts'
import { chatApi } from '../../../services/chat/openai-apis.ts'
import { breakerDefaults } from '../../../services/config/defaults.ts'
import { createDeployments } from '../../../services/models/deployments/deployments.ts'
import { recordChunk } from '../../../services/providers/generated-text.ts'
import type { ChatResponse, ChatCall } from '../../../services/providers/provider.ts'
import {
  createReport, recordUsage, type StreamReport, type Usage
} from '../../../services/providers/report.ts'
import { createAbandonedCalls } from '../../../services/requests/attempt.ts'
import type { Exchange } from '../../../services/requests/exchange.ts'
import { createRequestReservations } from '../../../services/requests/request-reservation.ts'
import { createRequestRecord } from '../../../services/requests/request-record.ts'
import { ActiveSet } from '../../../services/shared/timers.ts'
import { JsonText } from '../../../services/shared/json.ts'
import { createFakeLedger, failure, limits } from '../requests/helper.ts'

/** 1000 nano-USD per token, in and out. */
export const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 1_000_000 }
export const usage = { prompt: 5, completion: 3 }
export const costNano = 8000

type Provide = (call: ChatCall) => Promise<ChatResponse>
type Text = Extract<ChatResponse, { kind: 'json' }>['body']
type Chunk = Extract<ChatResponse, { kind: 'chunks' }>['chunks'] extends AsyncIterable<infer One> ? One : never

export function whole (reported: Usage | null = usage): ChatResponse {
  const body: Text = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }
  return { kind: 'json', body, text: 'as received', report: { ...createReport(), usage: reported } }
}

/** A stream of texts, then the usage or what breaks it off. */
export function stream (
  texts: readonly string[], end: 'usage' | Error | (() => Promise<Error>), report: StreamReport = createReport()
): ChatResponse {
  const chunk = (more: Partial<Chunk>): Chunk => {
    return { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], ...more }
  }
  async function * chunks () {
    for (const content of texts) {
      const piece = chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
      recordChunk(report, piece)
      yield piece
    }
    if (end !== 'usage') throw end instanceof Error ? end : await end()
    recordUsage(report, usage, false)
    yield chunk({ usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } })
  }
  return { kind: 'chunks', chunks: chunks(), report }
}

interface TestOptions {
  creditNano?: number
  requests?: Partial<RequestsConfig>
  /** Their prices where they are not `price`. */
  prices?: Record<string, typeof price>
  autoModel?: AutoModel
  /** How long calls may go on without their client. */
  drains?: { minMs?: number }
}

/** The use case with one provider for each model; `events` has what happens to the money and the answer. */
export function createTest (providers: Record<string, Provide>, options: TestOptions = {}) {
  const ledger = createFakeLedger(options.creditNano)
  const { events } = ledger
  const failures: string[] = []
  const called: ChatCall[] = []
  const deployments = createDeployments({ config: () => ({ breaker: breakerDefaults }) })
  const sent: { headers?: Record<string, string>, text: string, body?: unknown } = { text: '' }
  const written = Promise.withResolvers<void>()
  const drains = createAbandonedCalls({ running: new ActiveSet(), ...options.drains })
  const abandoned: unknown[] = []
  const chat = createChat({
    catalogue: {
      resolve (id) {
        if (providers[id] === undefined) return undefined
        const known = { id, maxOutput: 1000, contextWindow: 8000, price: options.prices?.[id] ?? price }
        const model = { ...modelFromCatalogue(id, id), ...known }
        return { model, deployments: [{ provider: id, model: `${id}-upstream`, weight: 1, priority: 0 }] }
      },
      provider: id => ({
        id,
        close: async () => {},
        chat: async call => {
          events.push(`call ${id}`)
          called.push(call)
          return await providers[id]?.(call) ?? whole()
        }
      }),
      deployments
    },
    config: () => ({ requests: { ...limits, retries: 0, ...options.requests } }),
    ledger,
    openReservation: createRequestReservations({
      ledger, newId: () => 'h', onError: error => { throw error }
    }),
    abandonedCalls: drains,
    onAbandoned: (id, { costNano }) => { abandoned.push([id, costNano]) },
    autoModel: options.autoModel ?? { select: () => { throw new Error('no router') } },
    onFailure: (_id, { model }, { kind }) => { failures.push(`${model.id}: ${kind}`) },
    random: () => 0
  })
  const abort = new AbortController()
  const record = createRequestRecord()

  /** As the gateway does: what breaks a stream off goes to the client as an event. */
  async function sendStream (
    headers: Record<string, string>, pieces: AsyncIterable<Uint8Array>
  ): Promise<void> {
    sent.headers = headers
    try {
      for await (const piece of pieces) {
        sent.text += Buffer.from(piece).toString()
        written.resolve()
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error
      if (!abort.signal.aborted) record.failure = error
    }
    events.push('stream ends')
  }

  function incomingOf (more: Partial<ChatCompletionRequest>): Exchange<ChatCompletionRequest> {
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const request = { model: 'a', messages, max_tokens: 10, ...more }
    return {
      deadlineMs: null,
      conversation: null,
      cache: null,
      clientRetries: null,
      keepAlive: null,
      body: request,
      rawBody: JsonText.from(request),
      requestId: 'req-1',
      payer: { key: 'key', chain: ['acme'] },
      mayUse: () => true,
      regions: null,
      signal: abort.signal,
      giveUp: reason => abort.abort(reason),
      record,
      extraHeaders: {},
      listener: null,
      delivery: {
        json (headers, body, text) {
          events.push('send')
          Object.assign(sent, { headers, body, text })
        },
        stream: sendStream,
        keepAlive: () => ({ hasBegun: false, stop () {} }),
        keepWholeAlive: () => ({ hasBegun: false, stop () {}, fail () {} }),
        longPoll: () => { throw new Error('no long poll') }
      }
    }
  }

  return {
    events,
    ledger,
    failures,
    called,
    sent,
    trace: record,
    abort,
    deployments,
    drains,
    /** The ids and costs of the requests whose client did not wait. */
    abandoned,
    idle: () => chat.idle(),
    /** Resolves with the first piece of a stream. */
    written: written.promise,
    complete: async (
      more: Partial<ChatCompletionRequest> = {}, options: { deadlineMs?: number } = {},
      native: Partial<ProviderCalls<ChatCompletionRequest>> = {}
    ) => await chat.complete({ ...incomingOf(more), ...options }, { ...chatApi, ...native }),
    /** What is held for the request, in nano-USD: its bytes and its output limit. */
    get heldFor () { return Number(/\d+/.exec(events.find(event => event.startsWith('hold')) ?? '')?.[0]) }
  }
}

/** The events with the amounts of holds left out. */
export const stepsOf = (events: readonly string[]) => events.map(event => event.replace(/^(hold|release) \d+$/, '$1'))

/** Waits until a call's signal aborts, as a provider does. */
export async function untilAborted ({ signal }: ChatCall): Promise<never> {
  await new Promise(resolve => signal.addEventListener('abort', resolve))
  throw failure('aborted', {}, 'yes')
}

/** The failure of a stream whose call is aborted. */
export async function abortOf (call: ChatCall): Promise<Error> {
  return await untilAborted(call).catch((error: Error) => error)
}
