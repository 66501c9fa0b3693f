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

/** What held requests cost a gateway, beside a bare server that holds as many. */
export interface HeldMeasurement {
  requests: number
  /** How many jobs the gateway worked on, those that nobody waited for included. */
  jobs: number
  /** Memory per held request, in KiB. */
  bareKiB: number
  subjectKiB: number
  /** What a gateway needs beyond the bare socket. */
  extraKiB: number
  /** CPU time per held request and minute, in µs. */
  bareUs: number
  subjectUs: number
}

export const heldTargetKiB = 25
/** The clients of the other jobs have gone. */
const loads = [{ requests: 1_000, jobs: 1_000 }, { requests: 10_000, jobs: 20_000 }]
/** Files that are open beside the held connections: those to the provider above all. */
const otherFiles = 2_000
/** Long enough for every request to have its first space and some more of them. */
const windowMs = 20_000
const settleMs = 3_000
const openAtOnce = 100
const patienceMs = 60_000
/**
 * V8 keeps up to 48 MiB for objects to come, which it takes as the load grows, once and however many requests
 * are held. Here it is kept small, so that what grows is what requests cost.
 */
const options = ['--expose-gc', '--max-semi-space-size=1']
const answerBytes = 1_000

/**
 * Measures requests for videos that are not ready, which are held open, polled for and sent spaces. Throws an
 * Error when some of them are not held.
 */
export async function measureHeld (workspace: string): Promise<HeldMeasurement[]> {
  await using provider = await startPatientProvider()
  const bare: Program = { ...beside('held-bare.ts'), env: { PORT: '0' }, needsKey: false }
  const measurements: HeldMeasurement[] = []
  for (const { requests, jobs } of loads) {
    const most = maxFiles()
    if (most < requests + otherFiles) {
      process.stderr.write(`${requests} held requests are not measured: only ${most} files may be open (ulimit -Hn)\n`)
      continue
    }
    const idle = await hold(bare, { requests, jobs: requests }, null)
    const subject = await hold(await gateway(provider.url, workspace), { requests, jobs }, provider)
    measurements.push({
      requests,
      jobs,
      bareKiB: idle.kiB,
      subjectKiB: subject.kiB,
      extraKiB: subject.kiB - idle.kiB,
      bareUs: idle.us,
      subjectUs: subject.us
    })
  }
  return measurements
}

/** The measurements as a table, one per line. */
export function reportHeld (measurements: readonly HeldMeasurement[]): string {
  const rows = measurements.map(({ requests, jobs, bareKiB, subjectKiB, extraKiB, ...rest }) =>
    `${String(requests).padStart(6)} held requests, ${String(jobs).padStart(5)} jobs: ` +
    `${extraKiB.toFixed(1)} KiB each beyond the bare socket ` +
    `(${subjectKiB.toFixed(1)} against ${bareKiB.toFixed(1)}; target ≤ ${heldTargetKiB}), ` +
    `${rest.subjectUs.toFixed(0)} µs of CPU each per minute (bare: ${rest.bareUs.toFixed(0)})`)
  return [...rows, ''].join('\n')
}

/** A provider that counts its jobs; null where there is none. */
type Counting = { readonly submits: number } | null
interface Costs { kiB: number, us: number }

async function hold (
  program: Program, { requests, jobs }: typeof loads[number], provider: Counting
): Promise<Costs> {
  await using server = await startServer(program, options)
  await warm(server, provider)
  const before = await server.usage()
  const leaving = await openAll(server, jobs - requests, provider)
  leave(leaving)
  const clients = await openAll(server, requests, provider)
  await sleep(settleMs)
  if (provider !== null) {
    const held = (): number => clients.filter(isHeld).length
    await untilTrue(() => held() === requests, () => `${held()} of ${requests} are held; answered: ${others(clients)}`)
  }
  const started = await server.usage()
  await sleep(windowMs)
  const ended = await server.usage()
  leave(clients)
  const minutes = windowMs / 60_000
  return {
    kiB: (ended.rssBytes - before.rssBytes) / 1024 / requests,
    us: (ended.cpuUs - started.cpuUs) / requests / minutes
  }
}

/** What a first request allocates once is no part of what each costs. */
async function warm (server: Child, provider: Counting): Promise<void> {
  const clients = await openAll(server, 50, provider)
  await sleep(settleMs)
  leave(clients)
  await sleep(settleMs)
}

/** One request, and the beginning of its answer. */
interface Client { socket: Socket, answer: string }

/** A client that has been sent 200 and nothing else but spaces. */
const isHeld = ({ socket, answer }: Client): boolean => !socket.destroyed && answer.startsWith('HTTP/1.1 200 ')

const leave = (clients: readonly Client[]): void => clients.forEach(({ socket }) => { socket.destroy() })

/** Opens requests, some at a time: the next ones when the provider has got the jobs of the last ones. */
async function openAll (server: Child, count: number, provider: Counting): Promise<Client[]> {
  const clients: Client[] = []
  const before = provider?.submits ?? 0
  while (clients.length < count) {
    const length = Math.min(openAtOnce, count - clients.length)
    const more = Array.from({ length }, () => openClient(server))
    await Promise.all(more.map(({ socket }) => once(socket, 'connect')))
    clients.push(...more)
    if (provider === null) continue
    const taken = (): number => provider.submits - before
    await untilTrue(() => taken() >= clients.length,
      () => `${taken()} of ${clients.length} jobs have come; answered: ${others(clients)}`)
  }
  return clients
}

/** What was answered that is no held request: the last lines, each kind once. */
function others (clients: readonly Client[]): string {
  const answers = clients.filter(client => client.answer !== '' && !isHeld(client)).map(({ answer }) => answer)
  return [...new Set(answers.map(answer => answer.trimEnd().split('\n').at(-1)))].join(' | ')
}

async function untilTrue (isTrue: () => boolean, state: () => string): Promise<void> {
  const deadline = performance.now() + patienceMs
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
  const client = { socket, answer: '' }
  socket.on('data', data => { if (client.answer === '') client.answer = data.toString('latin1', 0, answerBytes) })
  return client
}

/** How many files a process may open; Node raises the limit to the highest by itself. */
function maxFiles (): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { hard: number | 'unlimited' } } }
  const hard = userLimits?.open_files?.hard ?? 'unlimited'
  return hard === 'unlimited' ? Infinity : Number(hard)
}

async function gateway (providerUrl: string, workspace: string): Promise<Program> {
  const cwd = await mkdtemp(join(workspace, 'held-'))
  const path = join(cwd, 'gateway.yaml')
  await writeFile(path, `
providers: [{ id: upstream, base_url: "${providerUrl}", api_key: sk-bench }]
models: [{ id: film, kind: video, provider: upstream, price: { second: 0.0001 } }]
video: { heartbeat_after_ms: 2000, heartbeat_every_ms: 15000 }
`)
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    TOLLGATE_CONFIG: path,
    TOLLGATE_STARTING_CREDIT: '1000000',
    TOLLGATE_MEDIA: join(cwd, 'media'),
    DATABASE_URL: `sqlite:${join(cwd, 'tollgate.db')}`
  }
  return { file: fileURLToPath(new URL('../bin/serve.ts', import.meta.url)), cwd, env, needsKey: true }
}

/** A provider that takes every job and never gets ready. */
async function startPatientProvider () {
  let submits = 0
  const server = createServer((incoming, response) => {
    const isSubmit = incoming.method === 'POST'
    incoming.resume().on('end', () => {
      const id = isSubmit ? `v${++submits}` : incoming.url?.split('/').at(-1)
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
