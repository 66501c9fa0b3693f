import t from 'tap'
import { createFeedbackStore } from '../../../services/routing/feedback/store-feedback.ts'
import { fitOffsets } from '../../../services/routing/feedback/fit-offsets.ts'
import { readFeedback, readOffsets, writeOffsets } from '../../../services/routing/feedback/rows.ts'
import { trainOnFeedback } from '../../../services/admin/routing-feedback.ts'
import { forEachEngine } from '../../engines.ts'
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

forEachEngine(t, 'feedback is stored, and training activates offsets only if asked to', async (t, database) => {
  const store = await database.open()
  const feedback = createFeedbackStore(store)
  for (const { requestId, score, ...expected } of scores(60)) {
    feedback.recordRouted(requestId, { key: 'key', ...expected })
    await feedback.storeScore(requestId, 'key', score)
  }
  await feedback.storeScore('req_of_another_node', 'key', 1)
  await t.rejects(feedback.storeScore('req_1', 'another', 1), /no request/)
  t.equal((await readFeedback(store)).length, 60, 'a score without an expected quality is not read')
  const routed = 'policy="auto", model="x", reason=best_balance, quality=0.812, confidence=0.70, domain=long_context'
  for (const [request, key] of [['req_of_another_node', 'key'], ['req_of_another_node', 'key'], ['req_1', 'key']]) {
    await store.run(`insert into request_log (request, at, api_key, account, route, model, provider, status, outcome,
      attempts, prompt_tokens, completion_tokens, cost_nano, total_ms, weight, routed)
      values ($1, 1, $2, 'a', '/', 'fair', 'p', 200, 0, 1, 1, 1, 1, 1, 1, $3)`, [request ?? '', key ?? '', routed])
  }
  await feedback.storeScore('req_of_another_node', 'another key', 0)
  const [latest, ...rest] = (await readFeedback(store)).filter(({ requestId }) => requestId === 'req_of_another_node')
  t.strictSame([latest, rest], [{
    requestId: 'req_of_another_node', model: 'fair', score: 1, domain: 'long_context', expected: 0.812
  }, []], 'the expected quality of another node comes from the request log of the same key')
  await store.run('delete from request_log')

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
