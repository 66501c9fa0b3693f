import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startServer } from './child.ts'
import type { Child, Program } from './child.ts'

/** Costs of long polls in the gateway and in a bare server with as many open requests. */
export interface LongPollMeasurement {
  requests: number
  /** Jobs that the gateway polled, including those of clients that disconnected. */
  jobs: number
  /** Memory per request, in KiB. */
  bareKiB: number
  subjectKiB: number
  /** Memory of the gateway per request beyond that of the bare server. */
  extraKiB: number
  /** CPU time per request and minute, in µs. */
  bareUs: number
  subjectUs: number
  /** How much later than due the gateway's heartbeats arrive, in ms: the slowest of 100, and of all. */
  lateMs: number
  latestMs: number
}

export const maxLongPollKiB = 25
/** The clients of the other jobs disconnect. */
const loads = [{ requests: 1_000, jobs: 1_000 }, { requests: 10_000, jobs: 20_000 }]
/** Open files besides the client connections, mostly connections to the provider. */
const otherFiles = 2_000
/** Long enough for every request to receive several heartbeats. */
const windowMs = 20_000
const heartbeatMs = 15_000
const settleMs = 3_000
const openAtOnce = 100
const timeoutMs = 60_000
/**
 * A small young generation, so that memory grows by what requests retain and not by V8's reserve of 48 MiB.
 */
const options = ['--expose-gc', '--max-semi-space-size=1']
const answerBytes = 1_000

/**
 * Measures requests for unfinished videos, which stay open with heartbeats while their jobs are polled.
 * Throws an Error if some of them are answered.
 */
export async function measureLongPolls (workspace: string): Promise<LongPollMeasurement[]> {
  await using provider = await startPendingProvider()
  const bare: Program = { ...beside('long-polls-bare.ts'), env: { PORT: '0' }, needsKey: false }
  const measurements: LongPollMeasurement[] = []
  for (const { requests, jobs } of loads) {
    const limit = maxFiles()
    if (limit < requests + otherFiles) {
      process.stderr.write(`Skipped ${requests} long polls: only ${limit} files may be open (ulimit -Hn).\n`)
      continue
    }
    const idle = await measureServer(bare, { requests, jobs: requests }, null)
    const subject = await measureServer(await gateway(provider.url, workspace), { requests, jobs }, provider)
    measurements.push({
      requests,
      jobs,
      bareKiB: idle.kiB,
      subjectKiB: subject.kiB,
      extraKiB: subject.kiB - idle.kiB,
      bareUs: idle.us,
      subjectUs: subject.us,
      lateMs: subject.lateMs,
      latestMs: subject.latestMs
    })
  }
  return measurements
}

/** The measurements as a table, one per line. */
export function reportLongPolls (measurements: readonly LongPollMeasurement[]): string {
  const rows = measurements.map(({ requests, jobs, bareKiB, subjectKiB, extraKiB, ...rest }) =>
    `${String(requests).padStart(6)} long polls, ${String(jobs).padStart(5)} jobs: ` +
    `${extraKiB.toFixed(1)} KiB each beyond the bare socket ` +
    `(${subjectKiB.toFixed(1)} against ${bareKiB.toFixed(1)}; target ≤ ${maxLongPollKiB}), ` +
    `${rest.subjectUs.toFixed(0)} µs of CPU each per minute (bare: ${rest.bareUs.toFixed(0)}), ` +
    `heartbeats late by ${rest.lateMs.toFixed(0)} ms (99 %), at most ${rest.latestMs.toFixed(0)} ms`)
  return [...rows, ''].join('\n')
}

/** The number of jobs that a provider has received; null for the bare server, which has no provider. */
type JobCounter = { readonly submits: number } | null
interface Costs { kiB: number, us: number, lateMs: number, latestMs: number }

async function measureServer (
  program: Program, { requests, jobs }: typeof loads[number], provider: JobCounter
): Promise<Costs> {
  await using server = await startServer(program, options)
  await warmUp(server, provider)
  const before = await server.usage()
  const leaving = await openAll(server, jobs - requests, provider)
  disconnect(leaving)
  const clients = await openAll(server, requests, provider)
  await sleep(settleMs)
  if (provider !== null) {
    const waiting = (): number => clients.filter(isWaiting).length
    await waitUntil(() => waiting() === requests, () => `${waiting()} of ${requests} requests wait; other answers: ${otherAnswers(clients)}`)
  }
  const started = await server.usage()
  await sleep(windowMs)
  const ended = await server.usage()
  disconnect(clients)
  const minutes = windowMs / 60_000
  return {
    kiB: (ended.rssBytes - before.rssBytes) / 1024 / requests,
    us: (ended.cpuUs - started.cpuUs) / requests / minutes,
    ...provider === null ? { lateMs: 0, latestMs: 0 } : heartbeatLag(clients)
  }
}

/** How late heartbeats are, by the time between two at each client. Throws an Error if one has fewer. */
function heartbeatLag (clients: readonly Client[]): Pick<Costs, 'lateMs' | 'latestMs'> {
  const late = clients.flatMap(({ beatsMs }) => {
    if (beatsMs.length < 2) throw new Error(`A client has received ${beatsMs.length} heartbeats.`)
    return beatsMs.slice(1).map((atMs, index) => Math.max(0, atMs - beatsMs[index]! - heartbeatMs))
  }).toSorted((one, other) => one - other)
  return { lateMs: late[Math.floor(late.length * 0.99)] ?? 0, latestMs: late.at(-1) ?? 0 }
}

/** Excludes what the first requests allocate once. */
async function warmUp (server: Child, provider: JobCounter): Promise<void> {
  const clients = await openAll(server, 50, provider)
  await sleep(settleMs)
  disconnect(clients)
  await sleep(settleMs)
}

/** One request and the beginning of its answer. */
interface Client { socket: Socket, answer: string, beatsMs: number[] }

/** Whether a client has received the status 200 and its connection is open. */
const isWaiting = ({ socket, answer }: Client): boolean => !socket.destroyed && answer.startsWith('HTTP/1.1 200 ')

const disconnect = (clients: readonly Client[]): void => clients.forEach(({ socket }) => { socket.destroy() })

/** Opens requests in batches; waits after each batch until the provider has received its jobs. */
async function openAll (server: Child, count: number, provider: JobCounter): Promise<Client[]> {
  const clients: Client[] = []
  const before = provider?.submits ?? 0
  while (clients.length < count) {
    const length = Math.min(openAtOnce, count - clients.length)
    const more = Array.from({ length }, () => openClient(server))
    await Promise.all(more.map(({ socket }) => once(socket, 'connect')))
    clients.push(...more)
    if (provider === null) continue
    const submitted = (): number => provider.submits - before
    await waitUntil(() => submitted() >= clients.length,
      () => `${submitted()} of ${clients.length} jobs were submitted; answers: ${otherAnswers(clients)}`)
  }
  return clients
}

/** The distinct last lines of all other answers. */
function otherAnswers (clients: readonly Client[]): string {
  const answers = clients.filter(client => client.answer !== '' && !isWaiting(client)).map(({ answer }) => answer)
  return [...new Set(answers.map(answer => answer.trimEnd().split('\n').at(-1)))].join(' | ')
}

async function waitUntil (isTrue: () => boolean, state: () => string): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(state())
    await sleep(10)
  }
}

function openClient ({ url, key }: Child): Client {
  const messages = [{ role: 'user', content: `a film ${Math.random()}` }]
  const body = JSON.stringify({ model: 'film', messages })
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n' +
    `Authorization: Bearer ${key}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  const client: Client = { socket, answer: '', beatsMs: [] }
  socket.on('data', data => {
    client.beatsMs.push(performance.now())
    if (client.answer === '') client.answer = data.toString('latin1', 0, answerBytes)
  })
  return client
}

/** The hard limit of open files, to which Node raises its own. */
function maxFiles (): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { hard: number | 'unlimited' } } }
  const hard = userLimits?.open_files?.hard ?? 'unlimited'
  return hard === 'unlimited' ? Infinity : Number(hard)
}

async function gateway (providerUrl: string, workspace: string): Promise<Program> {
  const cwd = await mkdtemp(join(workspace, 'long-polls-'))
  const path = join(cwd, 'gateway.yaml')
  await writeFile(path, `
providers: [{ id: upstream, base_url: "${providerUrl}", api_key: sk-bench }]
models: [{ id: film, kind: video, provider: upstream, price: { second: 0.0001 } }]
video: { heartbeat_after_ms: 2000, heartbeat_every_ms: ${heartbeatMs} }
`)
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    TOLLGATE_CONFIG: path,
    TOLLGATE_STARTING_CREDIT: '1000000',
    // Provider and clients share the machine, so event loop delay must not cause load shedding.
    TOLLGATE_MAX_LAG_MS: '60000',
    TOLLGATE_MEDIA: join(cwd, 'media'),
    DATABASE_URL: `sqlite:${join(cwd, 'tollgate.db')}`
  }
  return { file: fileURLToPath(new URL('../bin/serve.ts', import.meta.url)), cwd, env, needsKey: true }
}

/** Starts a provider that accepts every job and never finishes one. */
async function startPendingProvider () {
  let submits = 0
  const server = createServer((exchange, response) => {
    const isSubmit = exchange.method === 'POST'
    exchange.resume().on('end', () => {
      const id = isSubmit ? `v${++submits}` : exchange.url?.split('/').at(-1)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ id, object: 'video', status: 'in_progress', progress: 10 }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get submits () { return submits },
    async [Symbol.asyncDispose] () {
      server.close()
      server.closeAllConnections()
    }
  }
}

function beside (name: string): Pick<Program, 'file' | 'cwd'> {
  const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
  return { file: pathOf(name), cwd: pathOf('..') }
}
