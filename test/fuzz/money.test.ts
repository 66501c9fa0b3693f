import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { checkLedger } from '../../services/ledger/check.ts'
import { sumUsage } from '../../services/reports/usage.ts'
import { nanoFromUsd } from '../../services/shared/money.ts'
import { usageText, type Protocol } from './hostile-provider.ts'
import { exchanges, withUsage, type Exchange } from './money-arbitraries.ts'
import { ask, openShop, price, type Answer, type Shop } from './money-shop.ts'

// Arbitrary requests meet arbitrary answers of providers. Whatever happens, no account goes below zero, every
// hold ends, what was booked is what was told, and the books add up. `FUZZ_RUNS` makes it longer (with
// `TAP_TIMEOUT`, in seconds), `FUZZ_SEED` repeatable.

const isLong = process.env['FUZZ_RUNS'] !== undefined
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 40)
/** The short run repeats one seed, so that a failure is due to the change at hand. */
const seed = Number(process.env['FUZZ_SEED'] ?? (process.env['FUZZ_RUNS'] === undefined ? 1 : Date.now() % 1_000_000))
const usd = 1_000_000_000
/** How long the provider may take to end a call that no client waits for. */
const patienceMs = 5_000

interface Entry { kind: 'usage' | 'suspense', ref: string, amount: number, estimated: number }

function sum (entries: readonly Entry[], kind?: Entry['kind']): number {
  const counted = entries.filter(entry => kind === undefined || entry.kind === kind)
  return counted.reduce((total, { amount }) => total + amount, 0)
}

function isCount (value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2 ** 32
}

const protocols: Record<string, Protocol> = { chat: 'chat', router: 'router', claude: 'anthropic', gemini: 'gemini' }

/** What the provider says that a text costs; null: nothing readable, undefined: it depends on more. */
function reportedNano ({ model, plan }: Exchange): number | null | undefined {
  const text = usageText(plan, protocols[model] ?? 'chat')
  const usage: unknown = text === null ? null : JSON.parse(text)
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return null
  if ('text' in plan.usage || plan.usage.other !== null) return undefined
  const [prompt, completion] = Object.values(usage)
  if (Object.keys(usage).length !== 2) return undefined
  if (prompt === null || completion === null) return undefined
  if (!isCount(prompt) || !isCount(completion)) return null
  if (prompt === 0) return undefined
  return Math.min(Number.MAX_SAFE_INTEGER, (prompt * price.inputPico + completion * price.outputPico) / 1000)
}

/** Why an answer and its entries are wrong; null: they are not. */
function problemOf (answer: Answer, entries: readonly Entry[], loggedUsd: unknown): string | null {
  const { exchange, status, cost, text } = answer
  const { model, leavesAfterMs, plan } = exchange
  const charged = sum(entries, 'usage')
  if (status === 500 || text.includes('internal_error')) return `answered ${status}: ${text}`
  if (cost !== undefined && nanoFromUsd(cost) !== charged) return `told ${cost}, booked ${charged}`
  const isLogged = typeof loggedUsd !== 'number' || nanoFromUsd(loggedUsd) === charged
  if (!isLogged) return `logged ${loggedUsd}, booked ${charged}`
  if (entries.filter(({ kind }) => kind === 'usage').length > 1) return 'charged twice'
  const isText = !model.endsWith('picture')
  if (plan.ending !== 'whole' || leavesAfterMs !== null || status === null || status >= 400) {
    return status === 502 && plan.ending === 'whole' ? `a whole answer became ${status}: ${text}` : null
  }
  // On a busy machine even a willing provider may be too slow.
  if (text.includes('upstream_timeout')) return null
  if (!exchange.stream && cost === undefined) return 'the cost was not told'
  if (!isText) return null
  const expected = reportedNano(exchange)
  const isEstimated = entries.some(({ estimated }) => estimated === 1)
  if (expected === undefined) return null
  if (expected === null) return isEstimated ? null : `an estimate was not flagged: ${JSON.stringify(entries)}`
  return sum(entries) === expected ? null : `reported ${expected}, booked ${sum(entries)}`
}

let accounts = 0

/** Sends requests of one account at once; throws an Error that says what is wrong afterwards. */
async function check (shop: Shop, creditNano: number, all: Exchange[]): Promise<void> {
  const { app } = shop.gateway
  const account = `acme-${++accounts}`
  await app.accounts.create({ id: account })
  await app.accounts.deposit({ id: `credit-${account}`, account, amountNano: creditNano })
  const { key } = await app.keys.create({ account, label: 'fuzz' })
  const from = shop.gateway.lines.length
  const answers = await Promise.all(all.map(exchange => ask(shop, key, exchange)))
  await quiet(shop, account)
  let problem = await problemOfBooks(shop, account, answers, from)
  // A request whose client has left may not have held its money by then.
  if (problem !== null && answers.some(({ status }) => status === null)) {
    await pause(500)
    await quiet(shop, account)
    problem = await problemOfBooks(shop, account, answers, from)
  }
  if (problem !== null) throw new Error(problem)
  const violations = await checkLedger(app.store)
  if (violations.length > 0) throw new Error(JSON.stringify(violations))
}

/** Waits until no request goes on. */
async function quiet ({ gateway: { app }, open }: Shop, account: string): Promise<void> {
  const untilMs = performance.now() + patienceMs
  for (;;) {
    const { heldNano } = await app.ledger.balance(account)
    if (open.count === 0 && app.ledger.openHoldCount === 0 && heldNano === 0) return
    if (performance.now() > untilMs) throw new Error(`${open.count} open requests hold ${heldNano}`)
    await pause(5)
  }
}

/** Why the books of an account are not what its answers say; null: they are. */
async function problemOfBooks (
  { gateway }: Shop, account: string, answers: readonly Answer[], from: number
): Promise<string | null> {
  const { app } = gateway
  const { creditsNano, spentNano } = await app.ledger.balance(account)
  if (creditsNano < spentNano) return `the account is at ${creditsNano - spentNano}`
  const logged = new Map(gateway.lines.slice(from).flatMap(({ reqId, costUsd, msg }) =>
    msg === 'request' ? [[reqId, costUsd] as const] : []))
  const entries = await app.store.all<Entry>(
    "select kind, ref, amount, estimated from entry where kind in ('usage', 'suspense') and chain = $1", [account])
  if (sum(entries, 'usage') !== spentNano) return `spent ${spentNano}, booked ${sum(entries, 'usage')}`
  const byRequest = Map.groupBy(entries, ({ ref }) => ref)
  for (const answer of answers) {
    const problem = problemOf(answer, byRequest.get(answer.id) ?? [], logged.get(answer.id))
    if (problem !== null) return `${JSON.stringify(answer)}: ${problem}`
  }
  return null
}

const limits = { interruptAfterTimeLimit: 10_000, markInterruptAsFailure: false }
const examples = ([
  ['8', '7'], ['8', '4294967295'], ['1000000000', '1000000000'], ['8', '-1'], ['"8"', '7'], ['8', '{}']
] as const).map(([prompt, completion]): [number, Exchange[]] => [usd, withUsage(prompt, completion)])

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`no answer of a provider breaks the books (${engine}, seed ${seed})`, async t => {
    t.setTimeout(isLong ? 24 * 3_600_000 : 60_000)
    const shop = await openShop(t, engine)
    const credit = fc.constantFrom(1, 0.001 * usd, usd, usd, 100 * usd)
    const property = fc.asyncProperty(credit, exchanges, async (creditNano, all) => {
      await check(shop, creditNano, all)
    })
    await fc.assert(property, { numRuns, seed, examples, ...(isLong ? {} : limits) })
    const { store } = shop.gateway.app
    const entries = await store.all<Entry>("select kind, amount from entry where kind = 'usage'")
    const [total] = await sumUsage(store, { by: [], from: 0, to: Number.MAX_SAFE_INTEGER })
    t.equal(total?.amountNano, sum(entries), 'the report of all usage')
  })
}
