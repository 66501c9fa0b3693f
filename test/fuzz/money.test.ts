import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { checkBooks } from '../../services/billing/ledger/check/check-books.ts'
import { budgetPrefix } from '../../services/billing/ledger/accounts.ts'
import { rollUpViolations } from '../../services/operations/reports/check-roll-up.ts'
import { rollUpUsage } from '../../services/operations/reports/roll-up.ts'
import { sumUsage } from '../../services/operations/reports/usage.ts'
import { exchanges, rich, wallets, withUsage, type Exchange, type Wallet } from './money-arbitraries.ts'
import { problemOf, sumOf, type Entry } from './money-oracles.ts'
import { ask, openAccounts, openShop, untilQuiet, type Answer, type Payers, type Shop } from './money-shop.ts'
import { tracked } from './tracked.ts'

// Arbitrary requests meet arbitrary answers of providers. Whatever happens, no account goes below zero, every
// hold ends, what was booked is what was told, the excess is in suspense, and the books add up. `FUZZ_RUNS`
// makes it longer (with `TAP_TIMEOUT`, in seconds), `FUZZ_SEED` repeatable.

const isLong = process.env['FUZZ_RUNS'] !== undefined
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 15)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000)

/** Sends requests of one wallet at once; throws an Error that says what is wrong afterwards. */
async function check (shop: Shop, wallet: Wallet, all: Exchange[]): Promise<void> {
  const { app } = shop.gateway
  const payers = await openAccounts(shop, wallet)
  const from = shop.gateway.lines.length
  const answers = await Promise.all(all.map(exchange =>
    ask(shop, exchange.isAbove ? payers.aboveKey : payers.key, exchange)))
  await untilQuiet(shop, payers)
  let problem = await problemOfBooks(shop, payers, answers, from)
  // A request whose client has left may not have arrived by then.
  if (problem !== null && answers.some(({ status }) => status === null)) {
    await pause(500)
    await untilQuiet(shop, payers)
    problem = await problemOfBooks(shop, payers, answers, from)
  }
  if (problem !== null) throw new Error(problem)
  const { violations } = await checkBooks(app.store)
  if (violations.length > 0) throw new Error(JSON.stringify(violations))
}

/** Why the books of two accounts are not what their answers say; null: they are. */
async function problemOfBooks (
  { gateway }: Shop, payers: Payers, answers: readonly Answer[], from: number
): Promise<string | null> {
  const [own = '', other = ''] = payers.keyIds
  const entries = await gateway.app.store.all<Entry>(`
    select kind, ref, amount, estimated, usage, reason, api_key from entry
    where kind in ('usage', 'suspense') and api_key in ($1, $2)`, [own, other])
  const ofTeam = entries.filter(entry => entry.api_key === own)
  const wrong = await problemOfAccount(gateway, payers.above, entries) ??
    await problemOfAccount(gateway, payers.account, ofTeam) ??
    await problemOfAccount(gateway, budgetPrefix + own, ofTeam)
  if (wrong !== null) return wrong
  await gateway.app.flushRequestLog()
  const lines = new Map(gateway.lines.slice(from).flatMap(({ reqId, costUsd, msg }) =>
    msg === 'request' ? [[reqId, costUsd] as const] : []))
  const rows = await gateway.app.store.all<{ request: string, cost_nano: number }>(
    'select request, cost_nano from request_log where api_key in ($1, $2)', [own, other])
  const logged = new Map(rows.map(({ request, cost_nano: nano }) => [request, nano]))
  const byRequest = Map.groupBy(entries, ({ ref }) => ref)
  for (const answer of answers) {
    const { id } = answer
    const booked = byRequest.get(id) ?? []
    const problem = problemOf(answer, booked, { lineUsd: lines.get(id), rowNano: logged.get(id) })
    if (problem !== null) return `${JSON.stringify(answer)}: ${problem} (seed ${seed})`
  }
  return null
}

interface AccountRow { creditsNano: number, spentNano: number, heldNano: number }

async function problemOfAccount (
  { app }: Shop['gateway'], id: string, entries: readonly Entry[]
): Promise<string | null> {
  const row = await app.store.get<AccountRow>(`
    select credits as "creditsNano", spent as "spentNano", held as "heldNano" from account where id = $1`, [id])
  if (row === undefined) return null
  const { creditsNano, spentNano, heldNano } = row
  if (creditsNano < spentNano + heldNano) return `${id} is at ${creditsNano - spentNano - heldNano}`
  const booked = sumOf(entries, 'usage')
  return booked === spentNano ? null : `${id} has spent ${spentNano}, booked ${booked}`
}

const limits = { interruptAfterTimeLimit: 10_000, markInterruptAsFailure: false }
const examples = ([
  ['8', '7'], ['8', '4294967295'], ['1000000000', '1000000000'], ['8', '-1'], ['"8"', '7'], ['8', '{}'],
  ['8', '7', '0.5'], ['8', '-1', '0.5']
] as const).map(([prompt, completion, cost]): [Wallet, Exchange[]] => {
  return [rich, withUsage(prompt, completion, cost)]
})

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`no answer of a provider breaks the books (${engine}, seed ${seed})`, async t => {
    t.setTimeout(isLong ? 24 * 3_600_000 : 60_000)
    const shop = await openShop(t, engine)
    const checks = tracked(async (wallet: Wallet, all: Exchange[]) => await check(shop, wallet, all))
    const property = fc.asyncProperty(wallets, exchanges, checks.check)
    await fc.assert(property, { numRuns, seed, examples, ...(isLong ? {} : limits) })
    await checks.end()
    const { store } = shop.gateway.app
    const entries = await store.all<Entry>("select kind, amount from entry where kind = 'usage'")
    const [total] = await sumUsage(store, { by: [], from: 0, to: Number.MAX_SAFE_INTEGER })
    t.equal(total?.amountNano, sumOf(entries), 'the report of all usage')
    await rollUpUsage(store)
    t.same((await checkBooks(store, { derived: rollUpViolations })).violations, [])
  })
}
