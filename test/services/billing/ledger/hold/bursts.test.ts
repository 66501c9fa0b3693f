import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../../../../services/shared/errors.ts'
import type { Store } from '../../../../../services/store/store.ts'
import { forEachEngine } from '../../../../helpers/engines.ts'
import { assertBooks, createBooks, createNodes, posting, reservation, rowOf } from '../helper.ts'
import { createTime, type SimulatedTime } from '../simulation.ts'

const request = fc.record({
  afterMs: fc.nat(200),
  amountNano: fc.integer({ min: 1, max: 600 }),
  /** The part of its hold that it costs. */
  share: fc.constantFrom(0, 0.01, 0.3, 1),
  lastsMs: fc.nat(1_500),
  node: fc.constantFrom('a', 'b'),
  chained: fc.boolean(),
  durable: fc.boolean(),
  /** When its client disconnects. */
  leavesMs: fc.option(fc.nat(1_000))
})

type Request = typeof request extends fc.Arbitrary<infer Value> ? Value : never

const credits = { acme: 1_000, team: 1_500 }

/** Sends requests that last a while on two nodes. Returns what was wrong. */
async function burst (
  store: Store, time: SimulatedTime, run: number, requests: readonly Request[]
): Promise<string[]> {
  const [acme, team, key] = [`acme-${run}`, `team-${run}`, `key-${run}`]
  await createBooks(store, { [acme]: credits.acme, [team]: credits.team }, key)
  const { node } = createNodes(store, time)
  const clocks = time.clocksOf({})
  const nodes = { a: node(`${run}-a`).ledger, b: node(`${run}-b`).ledger }
  const left = { acme: credits.acme, team: credits.team }
  const faults: string[] = []
  let running = 0

  async function serve (request: Request): Promise<void> {
    const { node, amountNano, share, lastsMs, chained, durable, leavesMs } = request
    const leaving = new AbortController()
    if (leavesMs !== null) clocks.timers.after(leavesMs, () => leaving.abort())
    const chain = chained ? [acme, team] : [acme]
    try {
      const { signal } = leaving
      const hold = await nodes[node].reserve(reservation(amountNano, { chain, key, durable, signal }))
      await new Promise<void>(resolve => { clocks.timers.after(lastsMs, resolve) })
      const costNano = Math.floor(amountNano * share)
      left.acme -= costNano
      if (chained) left.team -= costNano
      hold.settle(posting(costNano))
    } catch (error) {
      if (leaving.signal.aborted) return
      if (!(error instanceof GatewayError)) throw error
      const isSpent = amountNano > left.acme || (chained && amountNano > left.team)
      if (error.status === 402 && !isSpent) faults.push(`402 for ${amountNano} of ${JSON.stringify(left)}`)
      if (error.status !== 402 && error.status !== 429) faults.push(error.message)
    }
  }

  for (const each of requests) {
    running++
    serve(each).catch((error: unknown) => faults.push(String(error))).finally(() => { running-- })
    await time.advance(each.afterMs)
  }
  await time.advance(8_000)
  for (const { waitingCount, openHoldCount } of Object.values(nodes)) {
    if (waitingCount + openHoldCount + running > 0) faults.push(`${waitingCount}, ${openHoldCount}, ${running} are left`)
  }
  const rows = { acme: await rowOf(store, acme), team: await rowOf(store, team) }
  for (const name of ['acme', 'team'] as const) {
    const { spent = 0, held = 0 } = rows[name] ?? {}
    if (spent !== credits[name] - left[name] || spent > credits[name] || held !== 0) {
      faults.push(`${name}: ${spent} spent and ${held} held, ${left[name]} left`)
    }
  }
  for (const ledger of Object.values(nodes)) {
    const closed = ledger.close()
    await time.advance(100)
    await closed
  }
  return faults
}

forEachEngine(t, 'in a burst nothing is overspent or leaks, and 402 means that the money is spent', async (t, database) => {
  const time = createTime()
  const store = await database.open(time.clock)
  const numRuns = database.engine === 'sqlite' ? 40 : 6
  let run = 0
  await fc.assert(fc.asyncProperty(fc.array(request, { minLength: 5, maxLength: 30 }), async (requests) => {
    const faults = await burst(store, time, ++run, requests)
    if (faults.length > 0) throw new Error(faults.join('\n'))
  }), { numRuns })
  await assertBooks(t, store)
})
