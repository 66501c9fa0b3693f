import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../../../services/shared/errors.ts'
import { createLedger } from '../../../../services/billing/ledger/create.ts'
import type { Hold, Ledger, Reservation } from '../../../../services/billing/ledger/ledger.ts'
import type { Store } from '../../../../services/store/store.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { assertBooks, createBooks, createLog, posting } from './helper.ts'
import { runSchedule } from './schedule.ts'

/** The long run of the same is `npm run test:chaos`. */
const schedules = { sqlite: { count: 6, steps: 300 }, postgres: { count: 1, steps: 150 } }

forEachEngine(t, 'whatever happens to nodes, no account is overdrawn and nothing charged twice', async (t, database) => {
  const { count, steps } = schedules[database.engine]
  const first = Math.floor(Math.random() * 1_000_000)
  for (let seed = first; seed < first + count; seed++) {
    const { faults } = await runSchedule(database.open, seed, steps)
    t.same(faults, [], `seed ${seed}, ${steps} steps`)
  }
})

const accounts = ['paying', 'team', 'budget']
const request = fc.record({
  amountNano: fc.integer({ min: 1, max: 400 }),
  length: fc.integer({ min: 1, max: 3 }),
  durable: fc.boolean(),
  /** Which of the open holds ends before it, and what part of its amount that cost. */
  ends: fc.option(fc.record({ index: fc.nat(), share: fc.constantFrom(0, 0.3, 0.7, 1) }))
})
const requests = fc.record({
  credits: fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 3, maxLength: 3 }),
  requests: fc.array(request, { maxLength: 40 })
})

type Given = typeof requests extends fc.Arbitrary<infer Value> ? Value : never

forEachEngine(t, 'one node grants exactly what every account can cover; 402 means that it is spent', async (t, database) => {
  const store = await database.open()
  const numRuns = database.engine === 'sqlite' ? 30 : 4
  let run = 0
  await fc.assert(fc.asyncProperty(requests, async (given) => {
    const ledger = createLedger({ store, log: createLog(), options: { heldWaitMs: 0 } })
    try {
      await compare(store, ledger, `run-${++run}`, given)
    } finally {
      await ledger.close()
    }
  }), { numRuns })
  await assertBooks(t, store)
})

/** Does the same with a ledger and with plain numbers. Throws an Error where the two differ. */
async function compare (
  store: Store, ledger: Ledger, run: string, { credits, requests }: Given
): Promise<void> {
  const names = accounts.map((name) => `${name}-${run}`)
  const left = new Map(names.map((name, index) => [name, credits[index] ?? 0]))
  const unspent = new Map(left)
  const add = (to: Map<string, number>, chain: string[], nano: number) => {
    for (const account of chain) to.set(account, (to.get(account) ?? 0) + nano)
  }
  const covers = (from: Map<string, number>, chain: string[], nano: number) =>
    chain.every((account) => (from.get(account) ?? 0) >= nano)
  await createBooks(store, Object.fromEntries(left), `key-${run}`)

  const open: { hold: Hold, chain: string[] }[] = []
  for (const [index, { amountNano, length, durable, ends }] of requests.entries()) {
    const [ended] = ends === null || open.length === 0 ? [] : open.splice(ends.index % open.length, 1)
    if (ended !== undefined) {
      const costNano = Math.floor(ended.hold.amountNano * (ends?.share ?? 0))
      ended.hold.settle(posting(costNano))
      add(left, ended.chain, ended.hold.amountNano - costNano)
      add(unspent, ended.chain, -costNano)
    }
    const chain = names.slice(0, length)
    const expected = covers(left, chain, amountNano) ? 200 : covers(unspent, chain, amountNano) ? 429 : 402
    const reservation = { id: `${run}:${index}`, chain, key: `key-${run}`, amountNano, durable }
    const hold = await reserveOrStatus(ledger, reservation)
    const status = typeof hold === 'number' ? hold : 200
    if (status !== expected) {
      throw new Error(`${amountNano} got ${status} with ${[...left]} left and ${[...unspent]} not spent`)
    }
    if (typeof hold === 'number') continue
    open.push({ hold, chain })
    add(left, chain, -amountNano)
  }
  for (const [name, leftNano] of left) {
    const { availableNano } = await ledger.balance(name)
    if (availableNano !== leftNano) throw new Error(`${name} has ${availableNano}, not ${leftNano}`)
  }
}

async function reserveOrStatus (ledger: Ledger, reservation: Reservation): Promise<Hold | number> {
  try {
    return await ledger.reserve(reservation)
  } catch (error) {
    if (error instanceof GatewayError) return error.status
    throw error
  }
}
