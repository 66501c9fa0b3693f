import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createAccounts } from '../../services/billing/ledger/accounts.ts'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { createLedger } from '../../services/billing/ledger/create.ts'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'
import { createRandom } from '../services/billing/ledger/random.ts'
import type { Random } from '../services/billing/ledger/random.ts'
import { checkLife, startWorker, takenBackNano } from './ledger-node.ts'
import type { KillPoint, Loss, Said } from './ledger-node.ts'
import { startPostgresProcess } from './postgres.ts'
import type { PostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'

// Kills processes that spend money, and the database under them, and checks the books: half of the kills at a
// random moment, half at a kill point before, during or after a random statement.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: '100' },
    /** `sqlite` or `postgres`; by default both, one after the other. */
    engine: { type: 'string', default: 'both' },
    outages: { type: 'string', default: '5' }
  }
})
const slots = 2
const creditNano = 3_000_000
const killAfterMs = { min: 1, max: 250 }
/** Statements of a life that kills itself; the early ones join the cluster and fill the allowance. */
const killAtStatement = { min: 1, max: 120 }
const checkEveryKills = 10
/** A check reads all entries, so after this many kills new books begin. */
const maxKillsOfBooks = 500

const report = createReport()
process.stdout.write(`ledger-kill, seed ${values.seed}\n`)
const random = createRandom(Number(values.seed))

await using folder = await mkdtempDisposable(join(tmpdir(), 'tollgate-chaos-'))
if (values.engine !== 'postgres') await killOnSqlite()
if (values.engine !== 'sqlite') await killOnPostgres()
report.close()

async function killOnSqlite (): Promise<void> {
  for (const { round, kills } of rounds()) {
    await run('sqlite', `sqlite:${join(folder.path, `tollgate-${round}.db`)}`, kills)
  }
}

async function killOnPostgres (): Promise<void> {
  await using server = await startPostgresProcess()
  for (const { kills } of rounds()) await run('postgres', await server.createSchema(), kills)
  await killDatabase(server, Number(values.outages))
}

/** The kills of each engine, books by books. */
function rounds (): { round: number, kills: number }[] {
  const all = Number(values.kills)
  return Array.from({ length: Math.ceil(all / maxKillsOfBooks) }, (_, round) =>
    ({ round, kills: Math.min(maxKillsOfBooks, all - round * maxKillsOfBooks) }))
}

async function run (engine: string, url: string, kills: number): Promise<void> {
  const store = await openBooks(url)
  const started = performance.now()
  const losses = await Promise.all(Array.from({ length: slots }, async (_, slot) =>
    await killRepeatedly(
      store, url, slot, Math.ceil(kills / slots), createRandom(random.integer(0, 2 ** 31))
    )))
  await checkRest(store, engine)
  await store.close()
  const seconds = ((performance.now() - started) / 1_000).toFixed(0)
  const all = losses.flat()
  const worst = all.reduce((worse, loss) => loss.lostNano > worse.lostNano ? loss : worse)
  process.stdout.write(`${engine}: ${all.length} kills in ${seconds} s, the worst lost ${worst.lostNano} nano-USD ` +
    `where ${worst.boundNano} were on hold\n`)
}

async function openBooks (url: string): Promise<Store> {
  const store = await openStore(url)
  const accounts = createAccounts(store)
  for (const id of ['paying', 'budget']) {
    await accounts.create({ id })
    await accounts.deposit({ id: `first-${id}`, account: id, amountNano: creditNano })
  }
  await store.run(`
    insert into api_key (id, secret_sha256, account, label, created_at) values ('key', '', 'paying', '', 0)`)
  return store
}

/** A node that is killed repeatedly; each life has ended before it is compared with the books. */
async function killRepeatedly (
  store: Store, url: string, slot: number, kills: number, random: Random
): Promise<Loss[]> {
  const losses: Loss[] = []
  // On Postgres a restarted node releases its old holds under its own name; on SQLite any process does.
  const nodeOf = (life: number) => store.engine === 'postgres' ? `node-${slot}` : `node-${slot}-${life}`
  const start = (life: number, killPoint: KillPoint | '') =>
    startWorker(url, nodeOf(life), `${slot}-${life}`, folder.path, killPoint)
  let life = await start(0, '')
  let isAtPoint = false
  for (let lives = 1; lives <= kills; lives++) {
    const accountedNano = await takenBackNano(store, life.node)
    if (!isAtPoint) await sleep(random.integer(killAfterMs.min, killAfterMs.max))
    const dead = life
    const said = await (isAtPoint ? dead.killedItself() : dead.kill())
    isAtPoint = lives < kills && random.integer(0, 1) === 1
    life = await start(lives, isAtPoint ? randomPoint(random) : '')
    losses.push(await checkLife(store, dead, said, accountedNano, report))
    if (lives % checkEveryKills === 0) await checkBooks(store, `after ${lives} kills of node ${slot}`)
    // Sometimes the money runs out.
    const nano = { paying: random.integer(1, creditNano), budget: creditNano }
    for (const [account, amountNano] of Object.entries(nano)) {
      await createAccounts(store).deposit({ id: `more-${account}-${slot}-${lives}`, account, amountNano })
    }
  }
  await checkAllOnDisk(store, life.prefix, await life.end())
  return losses
}

function randomPoint (random: Random): KillPoint {
  const moments = ['before', 'during', 'after'] as const
  const moment = moments[random.integer(0, 2)] ?? 'after'
  return `${random.integer(killAtStatement.min, killAtStatement.max)}:${moment}`
}

/** Kills the database under running nodes, and restarts it once they have noticed. */
async function killDatabase (server: PostgresProcess, outages: number): Promise<void> {
  const url = await server.createSchema()
  const store = await openBooks(url)
  const accounts = createAccounts(store)
  for (const account of ['paying', 'budget']) {
    await accounts.deposit({ id: `plenty-${account}`, account, amountNano: 1_000 * creditNano })
  }
  const lives = await Promise.all([0, 1].map((slot) =>
    startWorker(url, `node-${slot}`, `outage-${slot}`, folder.path)))
  for (let outage = 1; outage <= outages; outage++) {
    await sleep(random.integer(20, 200))
    const felt = Promise.all(lives.map((life) => life.hears('away')))
    await server.kill()
    await felt
    const back = Promise.all(lives.map((life) => life.hears('back')))
    await server.start()
    await back
  }
  for (const life of lives) {
    report.check(life.outages() >= outages, `${life.prefix}: refuses reservations while the database is away`)
    await checkAllOnDisk(store, life.prefix, await life.end())
  }
  await checkRest(store, 'outages')
  await store.close()
  process.stdout.write(`postgres: killed ${outages} times under two nodes\n`)
}

/** A node that was not killed has lost nothing. */
async function checkAllOnDisk (store: Store, prefix: string, { settled }: Said): Promise<void> {
  const rows = await store.all<{ ref: string, amount: number }>(
    "select ref, amount from entry where kind = 'usage' and ref like $1", [`${prefix}-%`])
  const booked = new Map(rows.map(({ ref, amount }) => [ref, amount]))
  const isBooked = [...settled].every(([id, nano]) => booked.get(id) === nano)
  report.check(isBooked && settled.size === rows.length, `${prefix}: ${settled.size} requests were settled, ${rows.length} are in the books`)
}

async function checkBooks (store: Store, when: string): Promise<void> {
  const violations = await checkLedger(store)
  report.check(violations.length === 0, `${when}: ${JSON.stringify(violations)}`)
}

/** After the last durable holds have expired, nothing is held. */
async function checkRest (store: Store, name: string): Promise<void> {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} }
  const ledger = createLedger({ store, log: quiet, options: { heartbeatMs: 100 } })
  const deadline = performance.now() + 20_000
  const read = () => store.get<{ nano: number }>("select held as nano from account where id = 'paying'")
  while ((await read())?.nano !== 0 && performance.now() < deadline) await sleep(50)
  report.check((await read())?.nano === 0, `${name}: nothing is held at the end`)
  await ledger.close()
  await checkBooks(store, `${name}, at the end`)
}
