import fc from 'fast-check'
import t from 'tap'
import { checkBooks } from '../../services/billing/ledger/check/check-books.ts'
import { nanoFromUsd } from '../../services/shared/money.ts'
import { isObject } from '../../services/shared/json.ts'
import { plan, wallets, type Wallet } from './money-arbitraries.ts'
import type { Plan } from './hostile-provider.ts'
import { mayBeUnverified, sumOf, type Entry } from './money-oracles.ts'
import { openAccounts, openShop, post, untilQuiet, videoModel, type Payers, type Shop } from './money-shop.ts'
import { tracked } from './tracked.ts'

// Every surface with arbitrary answers of providers, clients that leave and connections that
// break: entries are the balance, holds end, a request has one charge at most, and none without an answer.

const isLong = process.env['FUZZ_RUNS'] !== undefined
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 8)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000)

interface Asked {
  path: string
  body: Record<string, unknown>
  stream: boolean
  /** Null: the client stays. */
  leavesAfterMs: number | null
  plan: Plan
}

const models = fc.constantFrom('chat', 'native', 'router', 'tiered', 'claude', 'gemini', videoModel)
const limit = fc.constantFrom(1, 50, 1000)
const input = (prompt: string) => [{ role: 'user', content: prompt }]

type ToBody = (model: string, most: number, prompt: string) => Record<string, unknown>
/** The body of a request to each place; the prompt names the plan of its provider. */
const places: Readonly<Record<string, ToBody>> = {
  '/chat/completions': (model, most, prompt) => ({ model, max_tokens: most, messages: input(prompt) }),
  '/completions': (model, most, prompt) => ({ model, max_tokens: most, prompt }),
  '/responses': (model, most, prompt) => ({ model, max_output_tokens: most, input: prompt }),
  '/messages': (model, most, prompt) => ({ model, max_tokens: most, messages: input(prompt) }),
  '/images/generations': (_model, _most, prompt) => ({ model: 'picture', prompt }),
  '/videos': (_model, _most, prompt) => ({ model: videoModel, prompt })
}

/** Videos are made by the sandbox, which does what the prompt says. */
function promptFor (name: string, { ending, delayMs }: Plan): string {
  return `${name}\nsandbox:delay ${delayMs}${ending === 'whole' ? '' : '\nsandbox:fail moderated'}`
}

type Question = Omit<Asked, 'body'> & { model: string, most: number }

const asked: fc.Arbitrary<Question> = fc.record({
  path: fc.constantFrom(...Object.keys(places)),
  model: models,
  most: limit,
  stream: fc.boolean(),
  leavesAfterMs: fc.oneof(
    { arbitrary: fc.constant(null), weight: 4 }, { arbitrary: fc.nat({ max: 30 }), weight: 1 }),
  plan
})

let count = 0

interface Came {
  id: string
  isVideo: boolean
  path: string
  stream: boolean
  status: number | null
  cost: string | undefined
  text: string
}

async function ask (
  { gateway, plans }: Shop, key: string, question: Question
): Promise<Came> {
  const { path, model, most, stream, leavesAfterMs, plan } = question
  const name = `plan-${++count}`
  const id = `surface-${count}`
  plans.set(name, plan)
  const isVideo = path === '/videos' || (model === videoModel && path !== '/images/generations')
  const prompt = isVideo ? promptFor(name, plan) : name
  const streams = isVideo || path === '/images/generations' ? {} : { stream }
  const body = { ...places[path]?.(model, most, prompt), ...streams }
  const headers = { ...gateway.headers, authorization: `Bearer ${key}`, 'x-request-id': id }
  return { id, isVideo, path, stream, ...await post(gateway.url + path, { headers, body, leavesAfterMs }) }
}

async function check (shop: Shop, wallet: Wallet, all: Question[]): Promise<void> {
  const { app } = shop.gateway
  const payers = await openAccounts(shop, wallet)
  const came = await Promise.all(all.map(one => ask(shop, payers.key, one)))
  await untilQuiet(shop, payers)
  const problem = await problemOfBooks(shop, payers, came)
  if (problem !== null) throw new Error(`${problem} (seed ${seed})`)
  const { violations } = await checkBooks(app.store)
  if (violations.length > 0) throw new Error(JSON.stringify(violations))
}

async function problemOfBooks (
  { gateway: { app } }: Shop, { account, above, keyIds }: Payers, came: readonly Came[]
): Promise<string | null> {
  const entries = await app.store.all<Booked>(`
    select kind, ref, amount, estimated, usage, reason, api_key, model from entry
    where kind in ('usage', 'suspense') and api_key = $1`, [keyIds[0] ?? ''])
  for (const id of [account, above]) {
    const row = await app.store.get<{ credits: number, spent: number, held: number }>(
      'select credits, spent, held from account where id = $1', [id])
    if (row === undefined) return `no account ${id}`
    if (row.credits < row.spent + row.held) return `${id}: ${JSON.stringify(row)}`
    const booked = sumOf(entries, 'usage')
    if (row.spent !== booked) return `${id} has spent ${row.spent}, booked ${booked}`
  }
  const byRequest = Map.groupBy(entries, ({ ref }) => ref)
  const ofVideos = entries.filter(({ model }) => model === videoModel)
  const problem = problemOfVideos(came.filter(({ isVideo }) => isVideo), ofVideos)
  if (problem !== null) return problem
  for (const one of came) {
    if (one.isVideo) continue
    const problem = problemOf(one, byRequest.get(one.id) ?? [])
    if (problem !== null) return `${JSON.stringify(one)}: ${problem}`
  }
  return null
}

type Booked = Entry & { model: string }

/** A video has the number of its job, and a job one charge at most; it goes on without its client. */
function problemOfVideos (came: readonly Came[], entries: readonly Booked[]): string | null {
  const delivered = came.filter(({ path, status }) => status === 200 && path !== '/videos')
  const charges = new Set(entries.map(({ ref }) => ref))
  const isUntold = ({ cost }: Came): boolean =>
    cost !== undefined && !entries.some(({ amount }) => amount === nanoFromUsd(cost))
  const isWrong = charges.size < entries.length || entries.length > came.length ||
    entries.length < delivered.length || delivered.some(isUntold)
  if (isWrong) return `${JSON.stringify(came)} have the charges ${JSON.stringify(entries)}`
  const faulty = came.find(({ status }) => status === 500)
  return faulty === undefined ? null : `a fault of the gateway: ${JSON.stringify(faulty)}`
}

function problemOf ({ path, stream, status, cost, text }: Came, entries: readonly Entry[]): string | null {
  const charges = entries.filter(({ kind }) => kind === 'usage')
  if (charges.length > 1) return `charged ${charges.length} times`
  const charged = sumOf(entries, 'usage')
  if (status !== null && status >= 400 && charges.length > 0) return `${status} is charged ${charged}`
  if (status !== null && status >= 500 && ![502, 503, 504, 529].includes(status)) return 'a fault of the gateway'
  if (cost !== undefined && nanoFromUsd(cost) !== charged) return `told ${cost}, booked ${charged}`
  const [charge] = charges
  const excess = charge === undefined ? 0 : JSON.parse(charge.usage).excessNano ?? 0
  const suspended = sumOf(entries, 'suspense')
  if (entries.some(({ reason }) => reason === 'unverified')) {
    const isAllowed = charge === undefined || mayBeUnverified({ status, stream }, charge)
    return isAllowed ? null : `unverified: ${JSON.stringify(entries)}`
  }
  if (charge !== undefined && suspended !== excess) return `excess of ${excess}, in suspense ${suspended}`
  const told = path === '/responses' && status === 200 ? costIn(text) : undefined
  return told === undefined || nanoFromUsd(told) === charged ? null : `told ${told} in the response, booked ${charged}`
}

/** The cost in the usage of a response, whole or at the end of a stream. */
function costIn (text: string): number | undefined {
  const last = /^event: response\.(?:completed|incomplete)\ndata: (.*)$/m.exec(text)?.[1]
  if (last === undefined && !text.startsWith('{')) return undefined
  const body: unknown = JSON.parse(last ?? text)
  const response = isObject(body) && isObject(body.response) ? body.response : body
  const usage = isObject(response) ? response.usage : null
  return isObject(usage) && typeof usage.cost === 'number' ? usage.cost : undefined
}

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`the books of every surface add up (${engine}, seed ${seed})`, async t => {
    t.setTimeout(isLong ? 24 * 3_600_000 : 90_000)
    const shop = await openShop(t, engine)
    const exchanges = fc.array(asked, { minLength: 1, maxLength: 6 })
    const checks = tracked(async (wallet: Wallet, all: Question[]) => await check(shop, wallet, all))
    const property = fc.asyncProperty(wallets, exchanges, checks.check)
    const limits = isLong ? {} : { interruptAfterTimeLimit: 15_000, markInterruptAsFailure: false }
    await fc.assert(property, { numRuns, seed, ...limits })
    await checks.end()
    const found = await shop.gateway.app.store.all<{ model: string, count: number }>(
      "select model, count(*) as count from entry where kind = 'usage' group by model", [])
    // A busy machine may get through too few checks for several models.
    t.ok(found.length > (checks.count < 4 ? 0 : 1), JSON.stringify(found))
  })
}
