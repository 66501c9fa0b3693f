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
const numbers = [1_000, 10_000]
/** Long enough for every request to have its first space and some more of them. */
const windowMs = 20_000
const settleMs = 3_000
const openAtOnce = 100

/** Measures requests for videos that are not ready, which are held open, polled for and sent spaces. */
export async function measureHeld (workspace: string): Promise<HeldMeasurement[]> {
  await using provider = await startPatientProvider()
  const bare: Program = { ...beside('held-bare.ts'), env: { PORT: '0' }, needsKey: false }
  const measurements: HeldMeasurement[] = []
  for (const requests of numbers) {
    const idle = await hold(bare, requests, () => requests)
    const before = provider.submits
    const program = await gateway(provider.url, workspace)
    const subject = await hold(program, requests, () => provider.submits - before)
    measurements.push({
      requests,
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
  const rows = measurements.map(({ requests, bareKiB, subjectKiB, extraKiB, bareUs, subjectUs }) =>
    `${String(requests).padStart(6)} held requests: ${extraKiB.toFixed(1)} KiB each beyond the bare socket ` +
    `(${subjectKiB.toFixed(1)} against ${bareKiB.toFixed(1)}; target ≤ ${heldTargetKiB}), ` +
    `${subjectUs.toFixed(0)} µs of CPU each per minute (bare: ${bareUs.toFixed(0)})`)
  return [...rows, ''].join('\n')
}

async function hold (
  program: Program, count: number, held: () => number
): Promise<{ kiB: number, us: number }> {
  await using server = await startServer(program, ['--expose-gc'])
  await warm(server)
  const before = await server.usage()
  const sockets = await openAll(server, count)
  for (let waited = 0; held() < count && waited < 120; waited++) await sleep(500)
  await sleep(settleMs)
  const started = await server.usage()
  await sleep(windowMs)
  const ended = await server.usage()
  for (const socket of sockets) socket.destroy()
  const minutes = windowMs / 60_000
  return {
    kiB: (ended.rssBytes - before.rssBytes) / 1024 / count,
    us: (ended.cpuUs - started.cpuUs) / count / minutes
  }
}

/** What a first request allocates once is no part of what each costs. */
async function warm (server: Child): Promise<void> {
  const sockets = await openAll(server, 50)
  await sleep(settleMs)
  for (const socket of sockets) socket.destroy()
  await sleep(settleMs)
}

async function openAll ({ url, key }: Child, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  const port = Number(new URL(url).port)
  while (sockets.length < count) {
    const more = Array.from({ length: Math.min(openAtOnce, count - sockets.length) }, (_, index) => {
      const content = `video ${sockets.length + index} ${Math.random()}`
      const body = JSON.stringify({ model: 'film', messages: [{ role: 'user', content }] })
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.resume().write('POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n' +
        `Authorization: Bearer ${key}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
      return socket
    })
    await Promise.all(more.map(socket => once(socket, 'connect')))
    sockets.push(...more)
    await sleep(20)
  }
  return sockets
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
  return { file: fileURLToPath(new URL('../fastify.config.ts', import.meta.url)), cwd, env, needsKey: true }
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
