import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { Agent, request } from 'undici'
import { startServer, type Child } from './child.ts'

/**
 * How soon the gateway notices that videos are done, while many of its jobs run, and while another account
 * has thousands: `node bench/noticed.ts --jobs 500 --flood 8000`. Fails if one is noticed after more than two
 * of its poll intervals.
 */
const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '500' },
    flood: { type: 'string', default: '0' },
    /** How long a video takes, in seconds. */
    from: { type: 'string', default: '20' },
    to: { type: 'string', default: '90' }
  }
})
const [jobs, flood] = [Number(values.jobs), Number(values.flood)]
const [fromS, toS] = [Number(values.from), Number(values.to)]
const neverS = 100_000
const openAtOnce = 100
/** Bounds of the poll interval at this provider, which is a tenth of the time since the submit. */
const interval = { minMs: 3_000, maxMs: 15_000 }
const maxIntervals = 2
const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

interface ProviderJob { createdMs: number, doneMs: number, noticedMs: number | null }

/** A provider that makes each video in the time that its prompt says. */
async function startProvider () {
  const video = await readFile(pathOf('../test/fixtures/videos/two-seconds.mp4'))
  const made = new Map<string, ProviderJob>()
  let polls = 0
  const server = createServer(async (exchange, response) => {
    const pieces: Buffer[] = []
    for await (const piece of exchange) pieces.push(piece)
    if (exchange.url?.endsWith('/content') === true) {
      return response.writeHead(200, { 'content-type': 'video/mp4' }).end(video)
    }
    const nowMs = performance.now()
    let id = exchange.url?.split('/').at(-1) ?? ''
    if (exchange.method === 'POST') {
      id = `v${made.size}`
      const takesS = Number(/takes ([\d.]+) s/.exec(Buffer.concat(pieces).toString())?.[1])
      made.set(id, { createdMs: nowMs, doneMs: nowMs + takesS * 1000, noticedMs: null })
    } else polls++
    const job = made.get(id)
    const isDone = job !== undefined && job.doneMs <= nowMs
    if (isDone) job.noticedMs ??= nowMs
    response.writeHead(200, { 'content-type': 'application/json' })
    const state = isDone ? { status: 'completed', progress: 100 } : { status: 'in_progress', progress: 10 }
    response.end(JSON.stringify({ id, object: 'video', ...state }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    made,
    get polls () { return polls },
    async [Symbol.asyncDispose] () {
      server.close()
      server.closeAllConnections()
    }
  }
}

async function startGateway (providerUrl: string, cwd: string) {
  await writeFile(join(cwd, 'gateway.yaml'), `
providers: [{ id: upstream, base_url: "${providerUrl}", api_key: sk-bench }]
models: [{ id: film, kind: video, provider: upstream, price: { second: 0.0001 } }]
video: { heartbeat_after_ms: 2000 }
`)
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    TOLLGATE_CONFIG: join(cwd, 'gateway.yaml'),
    TOLLGATE_STARTING_CREDIT: '1000000',
    // Provider and clients share the machine, so event loop delay must not cause load shedding.
    TOLLGATE_MAX_LAG_MS: '60000',
    TOLLGATE_MEDIA: join(cwd, 'media'),
    DATABASE_URL: `sqlite:${join(cwd, 'tollgate.db')}`
  }
  const server = await startServer({ file: pathOf('../bin/serve.ts'), cwd, env, needsKey: true })
  const run = promisify(execFile)
  const cli = async (...args: string[]): Promise<string> => {
    const all = { env: { ...process.env, ...env } }
    const { stdout } = await run(process.execPath, [pathOf('../bin/tollgate.js'), ...args], all)
    return stdout
  }
  return { server, cli }
}

const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

async function ask (url: string, key: string, takesS: number, signal: AbortSignal): Promise<number> {
  const messages = [{ role: 'user', content: `takes ${takesS} s, number ${Math.random()}` }]
  const answer = await request(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'film', messages }),
    dispatcher: agent,
    signal
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 200 || !text.includes('.mp4')) throw new Error(`${answer.statusCode} ${text}`)
  return performance.now()
}

/** Sends requests in groups; returns one promise for each. */
async function askAll (
  count: number, made: ReadonlyMap<string, unknown>, begin: () => Promise<number>
): Promise<Promise<number>[]> {
  const answers: Promise<number>[] = []
  const before = made.size
  while (answers.length < count) {
    const length = Math.min(openAtOnce, count - answers.length)
    answers.push(...Array.from({ length }, begin))
    while (made.size - before < answers.length) {
      await Promise.race([Promise.all(answers), new Promise(resolve => setTimeout(resolve, 20))])
    }
  }
  return answers
}

async function main (): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tollgate-noticed-'))
  await using provider = await startProvider()
  const { server, cli } = await startGateway(provider.url, folder.path)
  await using gateway: Child = server
  const leaving = new AbortController()
  if (flood > 0) {
    await cli('accounts', 'create', 'flood')
    await cli('credits', 'add', 'flood', '100000')
    const key = /sk-tg-[\w-]+/.exec(await cli('keys', 'create', '--account', 'flood'))?.[0] ?? ''
    const all = await askAll(flood, provider.made, () => ask(gateway.url, key, neverS, leaving.signal))
    for (const one of all) one.catch(() => {})
  }
  const floodIds = new Set(provider.made.keys())
  const before = { polls: provider.polls, atMs: performance.now(), ...await gateway.usage() }
  const takesS = () => fromS + Math.random() * (toS - fromS)
  const begin = async () => await ask(gateway.url, gateway.key, takesS(), leaving.signal)
  const answers = await askAll(jobs, provider.made, begin)
  await Promise.all(answers)
  const after = { polls: provider.polls, atMs: performance.now(), ...await gateway.usage() }
  leaving.abort()
  const own = [...provider.made].filter(([id]) => !floodIds.has(id)).map(([, job]) => job)
  const noticed = own.map(({ createdMs, doneMs, noticedMs }) => {
    const lagMs = (noticedMs ?? Infinity) - doneMs
    const intervalMs = Math.min(interval.maxMs, Math.max(interval.minMs, (doneMs - createdMs) / 10))
    return { lagMs, intervals: lagMs / intervalMs }
  }).toSorted((one, other) => one.intervals - other.intervals)
  const seconds = (after.atMs - before.atMs) / 1000
  const lags = noticed.map(({ lagMs }) => lagMs).toSorted((one, other) => one - other)
  const worst = noticed.at(-1)?.intervals ?? Infinity
  process.stdout.write(
    `${jobs} videos of ${fromS} to ${toS} s, beside ${flood} jobs of another account: noticed after ` +
    `${((lags[lags.length >> 1] ?? 0) / 1000).toFixed(1)} s (median), at most ${((lags.at(-1) ?? 0) / 1000).toFixed(1)} s, ` +
    `which is ${(noticed[noticed.length >> 1]?.intervals ?? 0).toFixed(2)} and ${worst.toFixed(2)} poll intervals; ` +
    `${((after.polls - before.polls) / seconds).toFixed(0)} polls/s, ` +
    `${((after.cpuUs - before.cpuUs) / 1e4 / seconds).toFixed(1)} % of a core\n`)
  await agent.destroy()
  if (worst > maxIntervals) process.exitCode = 1
}

await main()
