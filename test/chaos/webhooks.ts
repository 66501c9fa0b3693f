import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Webhook as Judge } from 'standardwebhooks'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'
import { createRandom } from '../services/billing/ledger/random.ts'
import { startVideoProvider } from '../servers/video-provider.ts'
import { startPostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'
import { startLife, type Life } from './video-life.ts'

// Kills the gateway after a client was told the id of its video: at a random moment, or while the webhook
// is being sent. Each job must end, be charged once, and have its webhook arrive, always with the same id.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    rounds: { type: 'string', default: '16' },
    engines: { type: 'string', default: 'postgres,sqlite' }
  }
})
const takeoverMs = 600
const patienceMs = 120_000
const perRound = 3
const report = createReport()
process.stdout.write(`webhooks, seed ${values.seed}\n`)
const random = createRandom(Number(values.seed))
await using folder = await mkdtempDisposable(join(tmpdir(), 'tollgate-chaos-'))
await using stack = new AsyncDisposableStack()
const children: ChildProcess[] = []

interface Message { path: string, body: string, headers: Record<string, string> }

const received: Message[] = []
const arrivals = new EventEmitter()
/** While true, what arrives is not answered. */
let isSilent = false
const receiver = createServer(async (request, response) => {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
  received.push({ path: request.url ?? '', body: await text(request), headers: Object.fromEntries(headers) })
  arrivals.emit('one')
  if (!isSilent) response.end()
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

const engines = values.engines.split(',')
const server = engines.includes('postgres') ? stack.use(await startPostgresProcess()) : null
for (const engine of engines) await runEngine(engine)
// A running node would keep this process alive.
for (const child of children) child.kill('SIGKILL')
receiver.closeAllConnections()
receiver.close()
process.stdout.write(`${received.length} messages received\n`)
report.close()

/** One gateway on a database, or two on Postgres, one of which is killed and restarted in each round. */
async function runEngine (engine: string): Promise<void> {
  await using provider = await startVideoProvider()
  const databaseUrl = engine === 'postgres' && server !== null
    ? await server.createSchema()
    : `sqlite:${join(folder.path, 'webhooks.db')}`
  const store = await openStore(databaseUrl)
  const start = async (): Promise<Life> => await startLife({
    databaseUrl,
    providerUrl: provider.url,
    mediaFolder: join(folder.path, `media-${engine}`),
    takeoverMs,
    onSpawn: child => { children.push(child) },
    env: { TOLLGATE_WEBHOOK_ORIGINS: origin }
  })
  const first = await start()
  const lives = engine === 'postgres' ? [first, await start()] : [first]
  for (let round = 0; round < Number(values.rounds) / engines.length; round++) {
    const slot = round % lives.length
    const name = `${engine}, round ${round}`
    try {
      const isSending = round % 4 === 3
      isSilent = isSending
      const moment = isSending ? once(arrivals, 'one', { signal: AbortSignal.timeout(patienceMs) }) : null
      const ids = await Promise.all(Array.from({ length: perRound }, async (_, index) =>
        await begin(lives[slot]!, first.key ?? '', `${name}, video ${index}`, index % 2 === 0)))
      await (moment ?? sleep(random.integer(0, 900)))
      await kill(lives[slot]!, store)
      lives[slot] = await start()
      for (const id of ids) await checkJob(store, id, name)
      const made = provider.jobs.filter(({ prompt }) => prompt.includes(`${name},`))
      report.check(made.length === perRound, `${name}: ${made.length} videos were made`)
    } catch (error) {
      report.check(false, `${name}: ${error instanceof Error ? error.stack : error}`)
      break
    }
  }
  const violations = await checkLedger(store)
  report.check(violations.length === 0, `${engine}: ${JSON.stringify(violations)}`)
  const held = await store.get<{ amount: number }>('select coalesce(sum(held), 0) as amount from account')
  const open = await store.all("select id from hold where kind = 'job' and state = 0")
  report.check(open.length === 0, `${engine}: ${open.length} holds of jobs are open, ${held?.amount} held`)
  await store.close()
}

/** Starts a video by either surface; returns its id. */
async function begin (life: Life, key: string, name: string, isChat: boolean): Promise<string> {
  const prompt = `${name}, takes ${random.integer(200, 700)}`
  const hook = { webhook_url: `${origin}/${encodeURIComponent(name)}` }
  const body = isChat
    ? { model: 'film', messages: [{ role: 'user', content: prompt }], video: { seconds: 2 }, ...hook }
    : { model: 'film', prompt, seconds: '2', ...hook }
  const answer = await fetch(`${life.url}${isChat ? '/chat/completions' : '/videos'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify(body)
  })
  const { id, error } = await answer.json() as { id: string, error?: unknown }
  report.check(answer.status === (isChat ? 202 : 200), `${name}: ${answer.status} ${JSON.stringify(error)}`)
  return id
}

async function kill ({ child }: Life, store: Store): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  if (!isSilent) return
  isSilent = false
  // As if the minute had passed after which another node takes over what a dead one was sending.
  await store.run('update webhook set next_attempt_at = 1 where next_attempt_at is not null')
}

async function checkJob (store: Store, id: string, name: string): Promise<void> {
  const sinceMs = performance.now()
  const webhook = async () => await store.get<{ id: string, delivered: number | null, path: string }>(
    'select id, delivered_at as delivered, url as path from webhook where job = $1', [id])
  while ((await webhook())?.delivered == null) {
    if (performance.now() - sinceMs > patienceMs) throw new Error(`the webhook of ${id} does not arrive`)
    // What the restarted or the other node was sending when its peer died.
    await store.run(`
      update webhook set next_attempt_at = 1
      where job = $1 and attempts > 0 and next_attempt_at > now_ms() and last_error is not null`, [id])
    await sleep(50)
  }
  const row = await webhook()
  const messages = received.filter(({ body }) => JSON.parse(body).data.id === id)
  report.check(messages.length > 0, `${name}: ${id} was told of`)
  const secret = await store.get<{ value: string }>("select value from secret where name = 'webhook:default'")
  for (const { headers, body } of messages) {
    report.check(headers['webhook-id'] === row?.id, `${name}: ${headers['webhook-id']} instead of ${row?.id}`)
    const { type } = new Judge(secret?.value ?? '').verify(body, headers) as { type: string }
    report.check(type === 'video.completed', `${name}: ${type}`)
  }
  const job = await store.get<{ state: string, held: string | null }>('select state from job where id = $1', [id])
  report.check(job?.state === 'succeeded', `${name}: ${id} is ${job?.state}`)
  const entries = await store.all<{ kind: string, amount: number }>('select kind, amount from entry where ref = $1', [id])
  const isOnce = entries.length === 1 && entries[0]?.kind === 'usage' && entries[0].amount === 2_000_000
  report.check(isOnce, `${name}: booked ${JSON.stringify(entries)}`)
}
