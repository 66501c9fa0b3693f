import t from 'tap'
import { createFeedbackStore } from '../../../services/routing/feedback/store-feedback.ts'
import { fitOffsets } from '../../../services/routing/feedback/fit-offsets.ts'
import { readFeedback, readOffsets, writeOffsets } from '../../../services/routing/feedback/rows.ts'
import { trainOnFeedback } from '../../../services/operations/admin/routing-feedback.ts'
import { forEachEngine } from '../../engines.ts'
import type { Store } from '../../../services/store/store.ts'
import { routingRequest, modelOf, routerOf } from './helper.ts'
import type { FeedbackScore } from '../../../services/routing/feedback/types.ts'

const actor = { id: 'cli:tester', label: null, role: 'owner' as const, account: null }

/** Scores of a model that is worse than expected, and of one that is as expected. */
function scores (count: number): FeedbackScore[] {
  return Array.from({ length: count }, (_, at) => ({
    requestId: `req_${at}`,
    model: at % 2 === 0 ? 'overrated' : 'fair',
    domain: 'chat',
    expected: 0.8,
    score: at % 2 === 0 ? (at % 10 < 4 ? 1 : 0) : (at % 10 < 8 ? 1 : 0)
  }))
}

t.test('fitted offsets improve the predictions of held-out scores', async t => {
  const { offsets, before, after, heldOut, trainedOn } = fitOffsets(scores(2000))
  t.equal(heldOut + trainedOn, 2000)
  t.ok(heldOut > 300 && heldOut < 500)
  t.ok(after.logLoss < before.logLoss - 0.02, `${before.logLoss} → ${after.logLoss}`)
  t.ok(after.squared < before.squared)
  const offsetOf = (model: string) => offsets.find(one => one.model === model)?.logOdds ?? NaN
  t.ok(offsetOf('overrated') < -1)
  t.ok(Math.abs(offsetOf('fair')) < 0.15)
})

t.test('a few scores hardly change anything', async t => {
  const [offset] = fitOffsets([{ requestId: 'a', model: 'm', domain: 'chat', expected: 0.8, score: 0 }]).offsets
  t.ok(offset === undefined || offset.logOdds > -0.15)
  t.strictSame(fitOffsets([]), {
    offsets: [],
    trainedOn: 0,
    heldOut: 0,
    before: { squared: 0, logLoss: 0 },
    after: { squared: 0, logLoss: 0 }
  })
})

t.test('offsets change the ranking', async t => {
  const models = [modelOf({ id: 'one' }), modelOf({ id: 'two' })]
  const domains = ['code', 'math', 'tools', 'knowledge', 'extraction', 'chat', 'multilingual', 'long_context']
  const byModel = new Map([['one', new Map(domains.map(domain => [domain, -0.8]))]])
  const first = (offsets = { version: 0, byModel: new Map() }) =>
    routerOf({ models, offsets }).decide(routingRequest('Tell me a story.')).candidates[0]?.id
  t.equal(first(), 'one')
  t.equal(first({ version: 1, byModel }), 'two')
})

/** Logs a routed request as another node would. */
async function logRouted (store: Store, request: string, key: string, model = 'fair'): Promise<void> {
  const routed = 'policy="auto", model="x", reason=best_balance, quality=0.812, confidence=0.70, domain=long_context'
  await store.run(`insert into request_log (request, at, api_key, account, route, model, provider, status, outcome,
    attempts, prompt_tokens, completion_tokens, cost_nano, total_ms, weight, routed)
    values ($1, 1, $2, 'a', '/', $3, 'p', 200, 0, 1, 1, 1, 1, 1, 1, $4)`, [request, key, model, routed])
}

forEachEngine(t, 'a score is stored once, and for a routed request of the same key alone', async (t, database) => {
  let nowMs = 1_000
  const store = await database.open(() => nowMs)
  const feedback = createFeedbackStore(store, 5_000)
  const expected = { model: 'fair', domain: 'chat', expected: 0.8 }
  await t.rejects(feedback.storeScore('req_made_up', 'one', 1), /no request/)
  feedback.recordRouted('req_same', { key: 'one', ...expected })
  feedback.recordRouted('req_same', { key: 'two', ...expected, model: 'other' })
  for (const score of [0, 0.5]) await feedback.storeScore('req_same', 'one', score)
  await feedback.storeScore('req_same', 'two', 1)
  await t.rejects(feedback.storeScore('req_same', 'three', 1), /no request/)
  t.strictSame((await readFeedback(store)).toSorted((a, b) => a.score - b.score), [
    { requestId: 'req_same', ...expected, score: 0.5 }, { requestId: 'req_same', ...expected, model: 'other', score: 1 }
  ])

  for (const model of ['earlier', 'fair']) await logRouted(store, 'req_of_another_node', 'one', model)
  await t.rejects(feedback.storeScore('req_of_another_node', 'two', 1), /no request/)
  nowMs = 4_000
  await feedback.storeScore('req_of_another_node', 'one', 1)
  nowMs = 7_000
  t.equal(await feedback.prune(), 2)
  t.strictSame(await readFeedback(store), [
    { requestId: 'req_of_another_node', model: 'fair', score: 1, domain: 'long_context', expected: 0.812 }
  ], 'the expected quality comes from the request log; scores are kept as long as requests')
})

forEachEngine(t, 'training activates offsets only if asked to', async (t, database) => {
  const store = await database.open()
  const feedback = createFeedbackStore(store, Infinity)
  for (const { requestId, score, ...expected } of scores(60)) {
    feedback.recordRouted(requestId, { key: 'key', ...expected })
    await feedback.storeScore(requestId, 'key', score)
  }
  const training = await trainOnFeedback({ store, actor }, false, 1)
  t.match(training, { applied: false, offsets: [{ model: 'fair' }, { model: 'overrated' }] })
  t.equal((await readOffsets(store)).byModel.size, 0)
  await trainOnFeedback({ store, actor }, true, 2)
  const { version, byModel } = await readOffsets(store)
  t.equal(version, 2)
  t.ok((byModel.get('overrated')?.get('chat') ?? 0) < -0.1)
  await writeOffsets(store, [], 3)
  t.equal((await readOffsets(store)).byModel.size, 0)
})
