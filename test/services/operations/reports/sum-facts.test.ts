import t from 'tap'
import { rollUpViolations } from '../../../../services/operations/reports/check-roll-up.ts'
import { rollUpUsage } from '../../../../services/operations/reports/roll-up.ts'
import { sumFacts } from '../../../../services/operations/reports/sum-facts.ts'
import { createDatabase } from '../../../helpers/engines.ts'
import { createRandom, type Random } from '../../billing/ledger/random.ts'

/** A number as providers send them, and as they should not. */
function anyNumber (random: Random): unknown {
  return random.weighted<unknown>([
    [6, random.integer(0, 1_000)],
    ...[undefined, null, 0, -3, 2.7, -0.4, 1e21, 1e300].map(value => [1, value] as const)
  ])
}

function anyUsage (random: Random): string | null {
  if (random.next() < 0.1) return null
  const names = [
    'prompt', 'completion', 'cachedRead', 'reasoning', 'images', 'seconds', 'cost', 'reported', 'excessNano'
  ]
  const tags = random.pick([undefined, {}, { a: '1' }, { 2: 'ü"\\', b: '' }])
  const numbers = names.filter(() => random.next() < 0.6).map(name => [name, anyNumber(random)])
  // The gateway itself computes this one, which may be negative.
  const saved = random.pick([undefined, random.integer(-50, 50)])
  return JSON.stringify({ ...Object.fromEntries(numbers), saved, tags })
}

t.test('entries are summed up in JavaScript as in SQL', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const seed = Date.now() >>> 0
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const anyOf = (...texts: (string | null)[]): string | null => random.pick(texts) ?? null
  for (let seq = 1; seq <= 600; seq++) {
    // A request above its hold has a second usage, which reverses none of the first.
    const kind = random.weighted([[6, 'usage'], [1, 'excess'], [2, 'refund'], [1, 'deposit']])
    const reverses = (kind === 'excess' || kind === 'refund') && seq > 1 ? random.integer(1, seq - 1) : null
    const [debit, credit] = kind === 'refund' ? ['revenue', 'acme'] : ['acme', 'revenue']
    await store.run(`
      insert into entry (
        at, debit, credit, amount, kind, model, provider, usage, estimated, api_key, chain, reverses, idempotency_key)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`, [
      random.integer(0, 3) * 40_000_000, debit, credit, random.integer(1, 1_000), kind === 'excess' ? 'usage' : kind,
      anyOf(null, 'm1', 'm2'), anyOf(null, 'x'), kind === 'refund' ? null : anyUsage(random),
      random.integer(0, 1), anyOf(null, 'k1', 'k2'), anyOf(null, 'acme'), reverses, String(seq)
    ])
  }
  await rollUpUsage(store, { chunk: 250 })
  t.match(await store.get('select seq from usage_progress'), { seq: 600 })
  const violations: unknown[] = []
  for await (const violation of rollUpViolations(store)) violations.push(violation)
  t.same(violations.filter(violation => JSON.stringify(violation).includes('usage by day')), [])
})

t.test('an entry counts in each column that it has a number for', async t => {
  const group = { day: 1, account: 'a', chain: '', api_key: 'k', model: 'm', provider: 'p', estimated: 0 }
  const counts = { prompt: 1, completion: 2, cachedRead: 3, reasoning: 4, images: 5, seconds: 1.5 }
  const usage = { ...counts, cost: 6, reported: 7, saved: -8, tags: { t: 'x' } }
  const beyondHold = { reported: 2, excessNano: 3 }
  const entries = JSON.stringify([[1, 100, usage, null], [0, -30, null, usage], [1, 9, beyondHold, null]])
  t.same(sumFacts({ ...group, entries }), [{
    ...group,
    tags: '{"t":"x"}',
    requests: 1,
    prompt: 1,
    completion: 2,
    cached: 3,
    reasoning: 4,
    images: 5,
    milliseconds: 1500,
    amount: 70,
    costed_requests: 1,
    cost: 6,
    costed_amount: 70,
    reported_requests: 1,
    reported: 7,
    expected: 6,
    saved: -8
  }, {
    ...group,
    tags: '{}',
    requests: 1,
    prompt: 0,
    completion: 0,
    cached: 0,
    reasoning: 0,
    images: 0,
    milliseconds: 0,
    amount: 9,
    costed_requests: 1,
    cost: 2,
    costed_amount: 9,
    reported_requests: 1,
    reported: 2,
    expected: 12,
    saved: 0
  }])
})
