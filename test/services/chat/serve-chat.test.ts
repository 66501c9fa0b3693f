import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { AutoModel } from '../../../services/chat/auto-model.ts'
import type { ProviderCalls } from '../../../services/chat/client-api.ts'
import type { ChatResponse } from '../../../services/providers/provider.ts'
import { createReport } from '../../../services/providers/report.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { rejection } from '../../helpers/thrown.ts'
import { failure } from '../requests/helper.ts'
import { abortOf, costNano, createTest, price, stepsOf, stream, untilAborted, usage, whole } from './helper.ts'

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
    a: async call => stream(['Hello'], () => abortOf(call))
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
      return stream([], () => abortOf(call), report)
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
      a: async call => stream(texts, () => abortOf(call))
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
      regions: null,
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
