import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { request } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'
import { startVideoProvider } from '../servers/video-provider.ts'
import type { Step, VideoProvider } from '../servers/video-provider.ts'
import { createRandom } from '../services/billing/ledger/random.ts'
import { startPostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'
import { startLife, type Life } from './video-life.ts'

// Kills the gateway that works on a video, in every state of the job; the client must still get the video. On
// Postgres another node continues the job, on SQLite the next process on the same database.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    rounds: { type: 'string', default: '100' },
    lanes: { type: 'string', default: '4' },
    engines: { type: 'string', default: 'postgres,sqlite' },
    states: { type: 'string', default: 'submitting,queued,running,storing,settling' }
  }
})
const takeoverMs = 600
const patienceMs = 120_000
type Engine = 'postgres' | 'sqlite'
type State = 'submitting' | 'queued' | 'running' | 'storing' | 'settling'
/**
 * The provider call during which a job is in a state; none while it is about to be settled. The result of the
 * first poll is written before the second one is sent.
 */
const stops: Readonly<Record<State, { step: Step, call: number } | null>> = {
  submitting: { step: 'submit', call: 1 },
  queued: { step: 'poll', call: 1 },
  running: { step: 'poll', call: 2 },
  storing: { step: 'download', call: 1 },
  settling: null
}
const states = values.states.split(',') as State[]
const engines = values.engines.split(',') as Engine[]

const report = createReport()
process.stdout.write(`videos, seed ${values.seed}\n`)
const random = createRandom(Number(values.seed))
await using folder = await mkdtempDisposable(join(tmpdir(), 'tollgate-chaos-'))
await using stack = new AsyncDisposableStack()
const server = engines.includes('postgres') ? stack.use(await startPostgresProcess()) : null
const started = performance.now()
const lanes = Number(values.lanes)
const recoveredMs: number[] = []
const children: ChildProcess[] = []
const roundsPerLane = Math.ceil(Number(values.rounds) / lanes)
await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane, roundsPerLane)))
// A running node would keep this process alive.
for (const child of children) child.kill('SIGKILL')
recoveredMs.sort((one, other) => one - other)
process.stdout.write(`${recoveredMs.length} kills in ${((performance.now() - started) / 1000).toFixed(0)} s; the video came ` +
  `${(recoveredMs[recoveredMs.length >> 1] ?? 0).toFixed(0)} ms after the kill (median; at most ${(recoveredMs.at(-1) ?? 0).toFixed(0)} ms)\n`)
report.close()

/** One or two gateways on one database, one of which is killed and restarted in each round. */
async function runLane (lane: number, rounds: number): Promise<void> {
  const engine = engines[lane % engines.length] ?? 'sqlite'
  await using provider = await startVideoProvider()
  const databaseUrl = engine === 'postgres' && server !== null
    ? await server.createSchema()
    : `sqlite:${join(folder.path, `lane-${lane}.db`)}`
  const store = await openStore(databaseUrl)
  const start = async (): Promise<Life> => await startNode(databaseUrl, provider.url, lane)
  const first = await start()
  // On SQLite the process is restarted that was killed.
  const lives = engine === 'postgres' ? [first, await start()] : [first]
  const key = first.key ?? ''
  const [account] = await store.all<{ id: string }>("select id from account where kind = 'account'")
  for (let round = 0; round < rounds; round++) {
    const state = states[(round + lane) % states.length] ?? 'queued'
    const slot = round % lives.length
    const name = `${engine}, lane ${lane}, round ${round}, ${state}`
    try {
      const victim = lives[slot]!
      const other = Promise.withResolvers<Life>()
      if (lives.length > 1) other.resolve(lives[1 - slot]!)
      const killed = await killIn(state, { store, provider, victim, other: other.promise, key, name })
      const restarting = start().then(life => {
        other.resolve(life)
        return life
      })
      const answering = killed.answer.then(answer => {
        recoveredMs.push(performance.now() - killed.at)
        return answer
      })
      const [restarted, answer] = await Promise.all([restarting, answering])
      await checkRound({ store, provider, name }, state, answer)
      lives[slot] = restarted
    } catch (error) {
      report.check(false, `${name}: ${error instanceof Error ? error.stack : error}`)
      return await store.close()
    }
  }
  const violations = await checkLedger(store)
  report.check(violations.length === 0, `lane ${lane}: ${JSON.stringify(violations)}`)
  const rest = await store.get<{ held: number }>('select cast(sum(amount) as bigint) as held from hold where kind = $1 and state = 0', ['job'])
  report.check((rest?.held ?? 0) === 0, `lane ${lane}: nothing is held for ${account?.id} at the end`)
  await store.close()
}

async function startNode (databaseUrl: string, providerUrl: string, lane: number): Promise<Life> {
  return await startLife({
    databaseUrl,
    providerUrl,
    mediaFolder: join(folder.path, `media-${lane}`),
    takeoverMs,
    onSpawn: child => { children.push(child) }
  })
}

interface Round {
  store: Store
  provider: VideoProvider
  victim: Life
  /** Where the client repeats its request. */
  other: Promise<Life>
  key: string
  name: string
}

interface Answer { status: number, text: string, tries: number }

/** Requests a video from one node, kills it when the job is in the given state, and lets the client retry. */
async function killIn (state: State, round: Round): Promise<{ at: number, answer: Promise<Answer> }> {
  const { provider, victim, name, store } = round
  const reached = new EventEmitter()
  const stop = stops[state]
  let calls = 0
  provider.before = (step, job) => {
    if (step !== stop?.step || !job.prompt.includes(name)) return undefined
    // It takes longer than the time until the kill, even on a slow machine.
    if (state === 'running') job.doneAt = Infinity
    if (++calls < stop.call) return undefined
    provider.before = null
    const killed = once(reached, 'killed')
    reached.emit('there')
    return killed.then(() => { job.doneAt = Math.min(job.doneAt, Date.now() + random.integer(0, 300)) })
  }
  if (state === 'settling') victim.child.send('arm')
  const there = stop === null ? once(victim.child, 'settling') : once(reached, 'there')
  const answer = ask(round)
  await Promise.race([there, sleep(patienceMs, null, { ref: false }).then(() => { throw new Error('it never came so far') })])
  const live = await store.all<{ state: string }>('select state from job where finished_at is null')
  const expected = state === 'settling' ? 'storing' : state
  report.check(live.length === 1 && live[0]?.state === expected, `${name}: killed in ${JSON.stringify(live)}`)
  const exited = once(victim.child, 'exit')
  victim.child.kill('SIGKILL')
  const at = performance.now()
  await exited
  reached.emit('killed')
  return { at, answer }
}

/**
 * A client behind a load balancer: if its connection breaks, it repeats its request at another node.
 */
async function ask ({ victim, other, key, name }: Round): Promise<Answer> {
  const takes = random.integer(300, 600)
  const isNamed = random.integer(0, 1) === 1
  const body = JSON.stringify({
    model: 'film', messages: [{ role: 'user', content: `${name}, takes ${takes}` }], video: { seconds: 2 }
  })
  for (let tries = 1; ; tries++) {
    try {
      const answer = await request(`${(tries === 1 ? victim : await other).url}/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-stainless-retry-count': String(tries - 1),
          ...isNamed ? { 'idempotency-key': name } : {}
        },
        body
      })
      const text = await answer.body.text()
      if (answer.statusCode < 500 || tries > 10) return { status: answer.statusCode, text, tries }
    } catch (error) {
      if (tries > 10) throw error
    }
    await sleep(100)
  }
}

async function checkRound (
  { store, provider, name }: Pick<Round, 'store' | 'provider' | 'name'>, state: State,
  { status, text, tries }: Answer
): Promise<void> {
  report.check(status === 200 && tries > 1, `${name}: answered ${status} at try ${tries}: ${text.slice(0, 500)}`)
  const completion = JSON.parse(text)
  const url = completion.choices?.[0]?.message.content
  const video = await request(url)
  const bytes = Buffer.from(await video.body.arrayBuffer())
  report.check(video.statusCode === 200 && bytes.toString('latin1', 4, 8) === 'ftyp', `${name}: ${url} is ${video.statusCode}`)

  const made = provider.jobs.filter(({ prompt }) => prompt.includes(`${name},`))
  report.check(made.length === 1, `${name}: ${made.length} videos were made`)
  report.check(state === 'submitting' || made[0]?.submits === 1, `${name}: ${made[0]?.submits} submits`)
  const id = String(completion.id).replace('chatcmpl-', '')
  const entries = await store.all<{ kind: string, amount: number }>('select kind, amount from entry where ref = $1', [id])
  const charged = entries.length === 1 && entries[0]?.kind === 'usage' && entries[0].amount === 2_000_000
  report.check(charged, `${name}: booked ${JSON.stringify(entries)}`)
  const job = await store.get<{ result: string }>('select cast(result as text) as result from job where id = $1', [id])
  const addresses = [...JSON.stringify(completion).matchAll(/https?:[^"]+\.mp4/g)].map(([address]) => address)
  const results = [...String(job?.result).matchAll(/"media": ?"\w+"/g)]
  report.check(new Set(addresses).size === 1 && results.length === 1, `${name}: ${addresses} for ${job?.result}`)
}
