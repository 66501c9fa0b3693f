import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
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
import { GatewayError } from '../../../services/shared/errors.ts'
import { JsonText } from '../../../services/shared/json.ts'
import { rejection } from '../../helpers/thrown.ts'
import { createFakeLedger, failure, limits } from '../requests/helper.ts'

/** 1000 nano-USD per token, in and out. */
const price = {
  inputPico: 1_000_000,
  outputPico: 1_000_000,
  cacheReadPico: null,
  cacheWritePico: null,
  imageNano: null,
  secondNano: null
}
const usage = { prompt: 5, completion: 3 }
const costNano = 8000

type Provide = (call: ChatCall) => Promise<ChatResponse>
type Text = Extract<ChatResponse, { kind: 'json' }>['body']
type Chunk = Extract<ChatResponse, { kind: 'chunks' }>['chunks'] extends AsyncIterable<infer One> ? One : never

function whole (reported: Usage | null = usage): ChatResponse {
  const body: Text = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }
  return { kind: 'json', body, text: 'as received', report: { ...createReport(), usage: reported } }
}

/** A stream of texts, then the usage or what breaks it off. */
function stream (
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
function createTest (providers: Record<string, Provide>, options: TestOptions = {}) {
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
      ledger, newId: () => 'h', onError: error => t.fail(String(error))
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
      body: request,
      rawBody: JsonText.from(request),
      requestId: 'req-1',
      payer: { key: 'key', chain: ['acme'] },
      mayUse: () => true,
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
const stepsOf = (events: readonly string[]) => events.map(event => event.replace(/^(hold|release) \d+$/, '$1'))

/** Waits until a call's signal aborts, as a provider does. */
async function untilAborted ({ signal }: ChatCall): Promise<never> {
  await new Promise(resolve => signal.addEventListener('abort', resolve))
  throw failure('aborted', {}, 'yes')
}

t.test('a whole answer is charged before it is sent, and says what it cost', async t => {
  const { complete, events, sent, trace: record, ledger, called } = createTest({ a: async () => whole() })
  await complete()
  t.same(stepsOf(events), ['hold', 'call a', `settle ${costNano}`, 'send'])
  t.match(ledger.postings, [{ amountNano: costNano, ref: 'req-1', model: 'a', usage, estimated: false }])
  t.match(sent, { text: 'as received', headers: { 'x-tollgate-cost': '0.000008', 'x-tollgate-model': 'a' } })
  t.match(record, { requestedModel: 'a', model: 'a', provider: 'a', upstreamModel: 'a-upstream', attempts: 1, costNano })
  t.match(called, [{ model: 'a-upstream', requestId: 'req-1', outputLimit: null, maxOutput: 1000 }])
})

t.test('a native answer is passed on as it came, and charged as any other', async t => {
  const body = { object: 'response' }
  const native: Partial<ProviderCalls<ChatCompletionRequest>> = {
    call: async () => ({ kind: 'json', body, text: null, report: { ...createReport(), usage }, native: true })
  }
  const test = createTest({ a: async () => whole() })
  await test.complete({}, {}, native)
  t.same(stepsOf(test.events), ['hold', `settle ${costNano}`, 'send'])
  t.same([test.sent.body, test.sent.headers?.['x-tollgate-cost']], [body, '0.000008'])
  const report = createReport()
  async function * pieces () {
    yield Buffer.from('event: a\n\n')
    report.usage = usage
  }
  const streamed = createTest({ a: async () => whole() })
  const events = Object.assign(pieces(), { pipeTo: async () => {} })
  await streamed.complete({ stream: true }, {}, { call: async () => ({ kind: 'bytes', events, report, native: true }) })
  t.equal(streamed.sent.text, 'event: a\n\n')
  t.same(stepsOf(streamed.events), ['hold', 'stream ends', `settle ${costNano}`])
})

t.test('a candidate that is left out is not called', async t => {
  const other = createTest({ a: async () => whole() })
  const refusal = GatewayError.invalidRequest('No web search here.', { param: 'tools[0]' })
  await t.rejects(other.complete({}, {}, { narrow: () => { throw refusal } }), refusal)
  t.same(other.events, [])
})

t.test('a stream is charged after its end', async t => {
  const { complete, events, sent, trace: record } = createTest({ a: async () => stream(['Hel', 'lo'], 'usage') })
  await complete({ stream: true })
  t.same(stepsOf(events), ['hold', 'call a', 'stream ends', `settle ${costNano}`])
  t.match(sent.text, /"Hel".*"lo".*\[DONE\]/s)
  t.equal(record.costNano, costNano)
})

t.test('a stream that breaks off after its first text is charged by an estimate', async t => {
  const { complete, ledger, trace: record, deployments } = createTest(
    { a: async () => stream(['Hello'], failure('network', {}, 'yes')) })
  await complete({ stream: true })
  await new Promise(setImmediate)
  t.match(ledger.postings, [{ estimated: true, usage: { completion: 1 } }])
  t.equal(ledger.heldNano, 0)
  t.match(record.failure, { kind: 'network' })
  const { errorRate } = deployments.expected('a', 'a-upstream')
  t.ok(errorRate > 0, 'and counts as a failure of the deployment')
})

t.test('a stream that breaks off before its first text is not charged', async t => {
  const { complete, events, trace: record } = createTest(
    { a: async () => stream([''], failure('network', {}, 'yes')) })
  await complete({ stream: true })
  t.same(stepsOf(events), ['hold', 'call a', 'stream ends', 'release'])
  t.equal(record.costNano, null)
})

t.test('a client that disconnects pays for what was generated for it', async t => {
  const test = createTest({
    a: async call => stream(['Hello'], async () => await untilAborted(call).catch((error: Error) => error))
  })
  const served = test.complete({ stream: true })
  await test.written
  test.abort.abort()
  await served
  await new Promise(setImmediate)
  t.match(test.ledger.postings, [{ estimated: true, usage: { completion: 1 } }])
  t.equal(test.deployments.expected('a', 'a-upstream').errorRate, 0, 'the deployment has done nothing wrong')
})

t.test('a client that disconnects before a stream begins pays for the prompt that the provider has read', async t => {
  const test = createTest({ a: untilAborted })
  const served = rejection(test.complete({ stream: true }))
  setImmediate(() => test.abort.abort())
  t.match(await served, { kind: 'aborted' })
  t.match(test.ledger.postings, [{ estimated: true, usage: { completion: 0 } }])
  t.equal(test.ledger.heldNano, 0)
})

t.test('what the provider has counted before the first text is charged, whoever waits for it', async t => {
  const counted = { prompt: 400, completion: 1 }
  const report = { ...createReport(), usage: counted, isPartial: true }
  const test = createTest({
    a: async call => {
      return stream([], async () => await untilAborted(call).catch((error: Error) => error), report)
    }
  })
  const served = rejection(test.complete({ stream: true, max_tokens: 1000 }))
  setImmediate(() => test.abort.abort())
  await served
  t.match(test.ledger.postings, [{ usage: counted, estimated: true }])
})

t.test('a whole answer whose client has left is still charged by its usage', async t => {
  const answered = Promise.withResolvers<ChatResponse>()
  const test = createTest({ a: () => answered.promise })
  const served = rejection(test.complete())
  setImmediate(() => test.abort.abort())
  t.match(await served, { kind: 'aborted' }, 'the client is not waited for')
  t.equal(test.drains.count, 1)
  t.notOk(test.called[0]?.signal.aborted)
  answered.resolve(whole())
  await test.idle()
  t.match(test.ledger.postings, [{ amountNano: costNano, usage, estimated: false }])
  t.same(stepsOf(test.events), ['hold', 'call a', `settle ${costNano}`], 'and it is not sent')
  t.same([test.drains.count, test.abandoned], [0, [['req-1', costNano]]])
})

t.test('a call goes on without its client for a limited time; what it may still cost is in doubt', async t => {
  const test = createTest({ a: untilAborted }, { drains: { minMs: 1 }, requests: { deadlineMs: 20 } })
  const served = rejection(test.complete())
  setImmediate(() => test.abort.abort())
  t.match(await served, { kind: 'aborted' })
  await test.idle()
  t.match(test.ledger.postings, [{ estimated: true, usage: { completion: 0 }, mayCostMore: true }])
  t.same([test.ledger.heldNano, test.drains.count], [0, 0])
})

t.test('an abandoned call that fails is not charged, and no other one follows', async t => {
  const answered = Promise.withResolvers<ChatResponse>()
  const test = createTest({ a: () => answered.promise }, { requests: { retries: 2, backoffMs: 1 } })
  const served = rejection(test.complete())
  setImmediate(() => test.abort.abort())
  await served
  answered.reject(failure('overloaded'))
  await test.idle()
  t.same(stepsOf(test.events), ['hold', 'call a', 'release'])
})

t.test('a request that the closing gateway gives up before its answer is not charged', async t => {
  for (const stream of [true, false]) {
    const test = createTest({ a: untilAborted })
    const served = rejection(test.complete({ stream }))
    setImmediate(() => test.abort.abort(GatewayError.unavailable('The gateway is shutting down.')))
    t.match(await served, { status: 503 })
    t.same(stepsOf(test.events), ['hold', 'call a', 'release'])
  }
})

t.test('a failure before the first byte is thrown and costs nothing', async t => {
  for (const provide of [
    async () => { throw failure('overloaded', { status: 503 }) },
    async () => stream([], failure('overloaded', { status: 503 }))
  ]) {
    const { complete, events, failures, trace: record } = createTest({ a: provide })
    t.match(await rejection(complete({ stream: true })), { kind: 'overloaded' })
    t.same(stepsOf(events), ['hold', 'call a', 'release'])
    t.same(failures, ['a: overloaded'])
    t.match(record, { model: 'a', provider: 'a', costNano: null }, 'the log names the model asked for')
  }
})

t.test('a failure that is no provider\'s releases the hold too', async t => {
  const { complete, events } = createTest({ a: async () => { throw new TypeError('a bug') } })
  await t.rejects(complete(), TypeError)
  t.same(stepsOf(events), ['hold', 'call a', 'release'])
})

t.test('a request that passes its deadline is given up with 504, and the work of the provider is charged', async t => {
  for (const [own, operators] of [[20, 60_000], [60_000, 20], [undefined, 20]] as const) {
    const requests = { deadlineMs: operators }
    const options = own === undefined ? {} : { deadlineMs: own }
    const streamed = createTest({ a: untilAborted }, { requests })
    const refused = rejection(streamed.complete({ stream: true }, options))
    t.match(await refused, { status: 504, code: 'deadline_exceeded' })
    t.ok(streamed.called[0]?.signal.aborted)
    t.match(streamed.ledger.postings, [{ estimated: true, usage: { completion: 0 } }])

    const answered = Promise.withResolvers<ChatResponse>()
    const awaited = createTest({ a: () => answered.promise }, { requests })
    t.match(await rejection(awaited.complete({}, options)), { status: 504, code: 'deadline_exceeded' })
    answered.resolve(whole())
    await awaited.idle()
    t.match(awaited.ledger.postings, [{ amountNano: costNano, estimated: false }])
  }
})

t.test('a stream that passes its deadline is charged, even before its first text', async t => {
  for (const [texts, completion] of [[[''], 0], [['Hello'], 1]] as const) {
    const { complete, ledger } = createTest({
      a: async call => stream(texts, async () => await untilAborted(call).catch((error: Error) => error))
    })
    await complete({ stream: true }, { deadlineMs: 20 })
    t.match(ledger.postings, [{ estimated: true, usage: { completion } }])
  }
})

t.test('a fallback is held and charged at its own price', async t => {
  const cheap = { ...price, inputPico: 500_000, outputPico: 500_000 }
  const { complete, ledger, events, sent, failures } = createTest(
    { a: async () => { throw failure('overloaded') }, b: async () => whole() }, { prices: { b: cheap } })
  await complete({ fallbacks: ['b'] })
  t.same(stepsOf(events), ['hold', 'call a', 'release', 'hold', 'call b', `settle ${costNano / 2}`, 'send'])
  t.match(ledger.postings, [{ model: 'b' }])
  t.match(sent.headers, { 'x-tollgate-model': 'b', 'x-tollgate-attempts': '2' })
  t.same(failures, ['a: overloaded'])
})

t.test('the field fallbacks does not reach the provider', async t => {
  const { complete, called } = createTest({ a: async () => whole(), b: async () => whole() })
  await complete({ fallbacks: ['b'] })
  t.equal(called[0]?.body.fallbacks, undefined)
  t.notMatch(Buffer.from(called[0]?.rawBody.bytes ?? []).toString(), 'fallbacks')
})

t.test('a dearer fallback is called only if the operator allows it', async t => {
  const dear = { ...price, outputPico: 9_000_000 }
  for (const [allowDearerFallbacks, calls] of [[false, ['call a']], [true, ['call a', 'call b']]] as const) {
    const { complete, events } = createTest(
      { a: async () => { throw failure('overloaded') }, b: async () => whole() },
      { prices: { b: dear }, requests: { allowDearerFallbacks } })
    await rejection(complete({ fallbacks: ['b'] }))
    t.same(events.filter(event => event.startsWith('call')), calls)
  }
})

t.test('an account that cannot cover the request is refused before any call', async t => {
  const { complete, events } = createTest({ a: async () => whole() }, { creditNano: 1000 })
  t.match(await rejection(complete()), { status: 402 })
  t.same(stepsOf(events), ['hold'])
})

t.test('an answer that costs more than the hold is charged the hold', async t => {
  const test = createTest({ a: async () => whole({ prompt: 5, completion: 1000 }) })
  await test.complete()
  t.match(test.ledger.postings, [{ amountNano: 1_005_000 }], 'the ledger books the excess')
  t.equal(test.trace.costNano, test.heldFor)
})

t.test('another call at the same model and price keeps the hold', async t => {
  let calls = 0
  const flaky = async () => {
    if (calls++ === 0) throw failure('overloaded')
    return whole()
  }
  const { complete, events } = createTest({ a: flaky }, { requests: { retries: 1, backoffMs: 1 } })
  await complete()
  t.same(stepsOf(events), ['hold', 'call a', 'call a', `settle ${costNano}`, 'send'])
})

t.test('an unknown model, or one the key may not use, is refused with 404', async t => {
  const { complete, events } = createTest({ a: async () => whole() })
  t.match(await rejection(complete({ model: 'other' })), { status: 404, code: 'model_not_found' })
  t.same(events, [])
})

t.test('the model of auto is the router\'s, which learns what answered', async t => {
  const learned: string[] = []
  const autoModel: AutoModel = {
    select: async () => ({
      model: 'a',
      fallbacks: ['b'],
      ceilingNano: null,
      bestPrice: null,
      patience: () => null,
      routeOf: model => {
        learned.push(model)
        return 'chosen'
      },
      failureOf: error => {
        learned.push('none')
        return error
      }
    })
  }
  const dear = { ...price, outputPico: 9_000_000 }
  const providers = { a: async () => { throw failure('overloaded') }, b: async () => whole() }
  const { complete, sent, trace: record } = createTest(providers, { autoModel, prices: { b: dear } })
  await complete({ model: 'auto', fallbacks: null })
  t.match(sent.headers, { 'x-tollgate-route': 'chosen', 'x-tollgate-model': 'b' }, 'its fallbacks may be dearer')
  t.equal(record.requestedModel, 'auto')

  const failing = createTest({ a: providers.a, b: providers.a }, { autoModel })
  await rejection(failing.complete({ model: 'auto' }))
  t.same(learned, ['b', 'none'])
})
