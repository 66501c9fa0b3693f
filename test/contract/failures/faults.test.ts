import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { countTokens } from '../../../services/billing/count-tokens.ts'
import { requestsDefaults } from '../../../services/config/defaults.ts'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import { answerNano, deployedAt, failAtRandom, sendMany } from '../../helpers/faults.ts'
import { startGateway, type Gateway } from '../../helpers/gateway.ts'
import { createRandom } from '../../services/billing/ledger/random.ts'
import { scripts, startUpstream } from '../../servers/upstream.ts'

const seed = Date.now() % 1_000_000

async function charges ({ app }: Gateway): Promise<{ ref: string, amount: number }[]> {
  await app.ledger.flush()
  return await app.store.all("select ref, amount from entry where kind = 'usage'")
}

async function start (t: Test, more: object = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const config = deployedAt([upstream.url, upstream.url], more)
  return { upstream, gateway: await startGateway(t, { config }) }
}

t.test('with two deployments, almost no request fails though three calls in ten do', async t => {
  t.comment(`seed ${seed}`)
  const { upstream, gateway } = await start(t)
  failAtRandom(upstream, createRandom(seed))
  const count = 400
  const sent = await sendMany(gateway, count, 8)
  const good = sent.filter(({ status }) => status === 200)
  // One in four hundred is silent at both deployments, and a call that ran out of time is not repeated there.
  t.ok(count - good.length <= 6, `${good.length} of ${count} succeed`)
  t.ok(upstream.requests.length > count * 1.3, `with ${upstream.requests.length} calls`)
  const attempts = sent.reduce((sum, { attempts }) => sum + attempts, 0)
  // On a busy machine a request may time out before it arrives.
  t.ok(attempts >= upstream.requests.length && attempts <= upstream.requests.length + 4, `${attempts} attempts are reported`)
  const entries = await charges(gateway)
  t.same(entries.map(({ ref }) => ref).toSorted(), good.map(({ id }) => id).toSorted(), 'each answer is charged once')
  t.ok(entries.every(({ amount }) => amount === answerNano), 'and nothing else is')
  t.same(await checkLedger(gateway.app.store), [])
})

t.test('no request takes longer than its deadline, set by client or operator', async t => {
  // Allows for a busy machine; without a deadline a request would take 6 s.
  const slackMs = 4_000
  const requests = { ...requestsDefaults, backoffMs: 10, deadlineMs: 600 }
  const { upstream, gateway } = await start(t, { requests })
  upstream.always(scripts.silent())
  // The first estimate loads the tokenizer, which would delay the others.
  await countTokens('Hello')
  const [operators, clients] = await Promise.all([
    sendMany(gateway, 8, 8), sendMany(gateway, 8, 8, { 'x-tollgate-deadline-ms': '250' })
  ])
  t.ok(operators.every(({ status, totalMs }) => status === 504 && totalMs < 600 + slackMs))
  t.ok(clients.every(({ status, totalMs }) => status === 504 && totalMs > 150 && totalMs < 250 + slackMs))
  // Those whose call was running at the deadline are charged for their prompt when that call ends.
  const awaited = new Set(clients.filter(({ attempts }) => attempts > 0).map(({ id }) => id))
  for (let entries = await charges(gateway); awaited.size > 0; entries = await charges(gateway)) {
    if (!entries.every(({ amount }) => amount === 8000)) t.fail(JSON.stringify(entries))
    for (const { ref } of entries) awaited.delete(ref)
    await setTimeout(20)
  }
  const [refused] = await sendMany(gateway, 1, 1, { 'x-tollgate-deadline-ms': 'soon' })
  t.equal(refused?.status, 400)
})
