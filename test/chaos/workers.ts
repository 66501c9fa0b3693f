import { mkdtempDisposable } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { openStore } from '../../services/store/open.ts'
import { addressOf, spawnGateway, type GatewayProcess } from '../helpers/process.ts'
import { createRandom } from '../services/billing/ledger/random.ts'
import { childrenOf, isRunning } from '../helpers/worker-nodes.ts'
import { startPostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'

// Kills workers of a node at random moments under load, and at the end of each round the process that started
// them: other workers go on, each image is charged once, the books add up and no process is left.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    rounds: { type: 'string', default: '4' },
    kills: { type: 'string', default: '12' }
  }
})
const workers = 3
const lanes = 12
const patienceMs = 60_000
const random = createRandom(Number(values.seed))
const report = createReport()
process.stdout.write(`workers, seed ${values.seed}\n`)

/** False if it does not come to that in time. */
async function comes (isTrue: () => Promise<boolean>): Promise<boolean> {
  const untilMs = performance.now() + patienceMs
  while (!await isTrue()) {
    if (performance.now() > untilMs) return false
    await sleep(50)
  }
  return true
}

interface Counts {
  sent: number
  answered: number
  broken: number
  other: Map<number, number>
  images: number
}

/** Sends a request on a connection of its own. Null: the connection broke. */
async function post (
  origin: string, key: string, path: string, body: object, name?: string
): Promise<number | null> {
  const client = new Client(origin)
  try {
    const answer = await client.request({
      method: 'POST',
      path,
      headers: {
        authorization: `Bearer ${key}`, 'content-type': 'application/json', ...name !== undefined && { 'idempotency-key': name }
      },
      body: JSON.stringify(body)
    })
    await answer.body.dump()
    return answer.statusCode
  } catch {
    return null
  } finally {
    client.destroy()
  }
}

/** Sends requests one after the other; every tenth is an image, which is repeated until it is answered. */
async function sendAll (
  origin: string, key: string, lane: number, counts: Counts, isOver: () => boolean
): Promise<void> {
  for (let number = 1; !isOver(); number++) {
    const isImage = number % 10 === 0
    const name = isImage ? `image-${lane}-${number}` : undefined
    const [path, body] = isImage
      ? ['/v1/images/generations', { model: 'sandbox-image', prompt: 'a fox', size: '256x256' }]
      : ['/v1/chat/completions', { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 }]
    for (;;) {
      counts.sent++
      const status = await post(origin, key, path, body, name)
      if (status === 200) {
        if (isImage) counts.images++
        else counts.answered++
        break
      }
      if (status === null) {
        counts.broken++
        // Nobody may listen for a moment.
        await sleep(10)
      }
      if (status !== null) counts.other.set(status, (counts.other.get(status) ?? 0) + 1)
      if (!isImage || status === 400) break
    }
  }
}

async function killWorkers ({ child }: GatewayProcess, origin: string, key: string): Promise<void> {
  for (let kill = 0; kill < Number(values.kills); kill++) {
    await sleep(50 + random.next() * 700)
    const pids = await childrenOf(child.pid)
    const pid = random.pick(pids)
    if (pid === undefined) continue
    process.kill(pid, random.next() < 0.7 ? 'SIGKILL' : 'SIGTERM')
    // No worker listens while all of them start.
    await comes(async () => await post(origin, key, '/v1/chat/completions', {}) !== null)
  }
}

async function round (databaseUrl: string, folder: string, ends: (() => unknown)[]): Promise<void> {
  const env = {
    DATABASE_URL: databaseUrl,
    TOLLGATE_WORKERS: String(workers),
    TOLLGATE_STARTING_CREDIT: '1000',
    TOLLGATE_DRAIN_SECONDS: '5',
    LOG_LEVEL: 'warn'
  }
  const gateway = await spawnGateway({ teardown: work => ends.push(work) }, env, { folder })
  const { url, key } = await addressOf(gateway)
  const { origin } = new URL(url)
  const counts: Counts = { sent: 0, answered: 0, broken: 0, other: new Map(), images: 0 }
  let isOver = false
  const sending = Array.from({ length: lanes }, (_, lane) => sendAll(origin, key, lane, counts, () => isOver))
  await killWorkers(gateway, origin, key)
  report.check(await comes(async () => (await childrenOf(gateway.child.pid)).length === workers), 'all workers are replaced')
  isOver = true
  await Promise.all(sending)
  const { other } = counts
  report.check([...other.keys()].every(status => [429, 503].includes(status)), `answers: ${JSON.stringify([...other])}`)
  report.check((await Promise.all(Array.from({ length: 30 }, () => post(origin, key, '/v1/chat/completions', {
    model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }]
  })))).every(status => status === 200), 'every request is answered after the kills')

  const last = await childrenOf(gateway.child.pid)
  gateway.child.kill('SIGKILL')
  report.check(await comes(async () => !(await Promise.all(last.map(isRunning))).includes(true)), 'no worker is left')

  const store = await openStore(databaseUrl)
  const account = await store.get<{ credits: number, spent: number }>("select credits, spent from account where id = 'default'")
  const entries = await store.all<{ ref: string, model: string }>("select ref, model from entry where kind = 'usage'")
  const images = entries.filter(({ model }) => model === 'sandbox-image')
  const chats = entries.length - images.length
  report.check((account?.spent ?? Infinity) <= (account?.credits ?? 0), 'nothing is overdrawn')
  // A worker that is killed loses the charges that are not on disk yet, never the account's money: those of
  // one chat of each lane at most. An image is answered once its charge is on disk.
  const most = lanes * Number(values.kills)
  report.check(images.length === counts.images, `${images.length} charges for ${counts.images} images`)
  report.check(chats <= counts.sent + 30, `${chats} charges for ${counts.sent} requests`)
  const lost = counts.answered + 30 - chats
  report.check(lost <= most, `${lost} answers are not booked`)
  const violations = await checkLedger(store)
  report.check(violations.length === 0, `the books add up: ${JSON.stringify(violations)}`)
  await store.close()
  process.stdout.write(`${store.engine}: ${counts.sent} requests, ${counts.broken} broken, ${counts.answered} answers, ` +
    `${counts.images} images, at most ${Math.max(0, lost)} answers not booked\n`)
}

await using workspace = await mkdtempDisposable(join(tmpdir(), 'chaos-workers-'))
await using postgres = await startPostgresProcess()
for (let number = 0; number < Number(values.rounds); number++) {
  const ends: (() => unknown)[] = []
  await using folder = await mkdtempDisposable(join(workspace.path, 'node-'))
  try {
    await round(number % 2 === 0 ? await postgres.createSchema() : `sqlite:${join(folder.path, 'tollgate.db')}`, folder.path, ends)
  } finally {
    for (const end of ends) await end()
  }
}
report.close()
