import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { withoutHooks } from '../../helpers/process.ts'
import { providerKey } from './provider.ts'
import { webhookOrigin } from './surfaces.ts'

/** A gateway in a process of its own, whose log and event loop are watched. */
export interface FuzzedGateway extends AsyncDisposable {
  port: number
  url: string
  userKey: string
  adminKey: string
  /** What was wrong with lines of its log, a few of each kind. */
  readonly problems: readonly string[]
  readonly exitCode: number | null
  /** The last lines of its output. */
  lastLines (): string
  /** The longest turn of its event loop in ms since the last reading, and the bytes in use. */
  read (collect?: boolean): Promise<{ longestMs: number, usedBytes: number, residentBytes: number }>
  /** An operator's request. */
  admin (path: string, method?: string): Promise<Record<string, unknown>>
}

const adminKey = 'operator-key-of-the-fuzz'
const heapMb = 1024
/** Longer lines are chosen by a client, or by a provider. */
const maxLineLength = 16_384

/** Starts the gateway of a folder with models of the sandbox and of the provider at `port`. */
export async function startFuzzedGateway (
  { root, providerPort, databaseUrl }: { root: string, providerPort: number, databaseUrl: string | null }
): Promise<FuzzedGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-fuzz-'))
  await writeFile(join(folder, 'gateway.yaml'), configFor(providerPort))
  const child = spawn(...withoutHooks(process.execPath, ...[
    '--expose-gc', `--max-old-space-size=${heapMb}`, '--import', join(import.meta.dirname, '../../hostile/pause-meter.ts'),
    '--import', join(root, 'bin', 'compile-cache.js'), join(root, 'bin', 'serve.ts')
  ]), {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PORT: '0',
      TOLLGATE_DISCOVER: 'off',
      // A busy machine must not cause load shedding.
      TOLLGATE_MAX_LAG_MS: '60000',
      TOLLGATE_ADMIN_KEY: adminKey,
      TOLLGATE_STARTING_CREDIT: '1000000',
      TOLLGATE_BILLING_RPM: '1000000',
      TOLLGATE_WEBHOOK_ORIGINS: webhookOrigin,
      ...(databaseUrl !== null && { DATABASE_URL: databaseUrl })
    }
  })
  const lines = watchLog(child)
  const [, url = ''] = await lines.first(/Tollgate serves (http\S+)/)
  const [userKey = ''] = await lines.first(/sk-tg-[\w-]+/)
  const [, meterPort = ''] = await lines.first(/pause meter (\d+)/)
  const origin = new URL(url).origin

  return {
    port: Number(new URL(url).port),
    url: origin,
    userKey,
    adminKey,
    problems: lines.problems,
    get exitCode () { return child.exitCode ?? (child.signalCode === null ? null : -1) },
    lastLines: () => lines.last.join('\n'),
    async read (collect = false) {
      const { body } = await ask(`http://127.0.0.1:${meterPort}${collect ? '/collect' : '/'}`)
      const { longestMs, memory } = body as { longestMs: number, memory: NodeJS.MemoryUsage }
      return { longestMs, usedBytes: memory.heapUsed + memory.external, residentBytes: memory.rss }
    },
    async admin (path, method = 'GET') {
      const { status, body } = await ask(`${origin}${path}`, { method, headers: { authorization: `Bearer ${adminKey}` } })
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`)
      return body as Record<string, unknown>
    },
    async [Symbol.asyncDispose] () {
      const exited = child.exitCode === null ? once(child, 'exit') : null
      child.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** A request on a connection of its own: one that is kept may be closed just when it is used. */
async function ask (url: string, options: RequestOptions = {}): Promise<{ status: number, body: unknown }> {
  const [response] = await once(request(url, { ...options, agent: false }).end(), 'response') as [IncomingMessage]
  return { status: response.statusCode ?? 0, body: await json(response) }
}

/** What problems of one kind have in common: numbers, ids and quotations differ. */
export function kindOf (problem: string): string {
  return problem.replace(/--only \d+|"(time|reqId|job)":("[^"]*"|\d+),?|\d+|"params".*/g, '').slice(0, 160)
}

function watchLog (child: ReturnType<typeof spawn>) {
  const problems: string[] = []
  const seen: string[] = []
  const last: string[] = []
  const waiting = new Set<() => void>()
  const note = (what: string, line: string): void => {
    const problem = `${what}: ${line.slice(0, 1_500)}`
    const kind = kindOf(problem)
    if (problems.length < 100 && !problems.some(problem => kindOf(problem) === kind)) problems.push(problem)
  }
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', line => {
      last.push(line.slice(0, 300))
      if (last.length > 20) last.shift()
      if (line.includes(providerKey)) note('the key of a provider in the log', line)
      if (line.length > maxLineLength) note('a line of the log without a bound', line)
      // What a provider has done, and a deadline that a client sets, are reported to operators as errors too.
      const isOwn = /"level":(50|60)/.test(line) && !/"type":"(UpstreamError|MediaRejected)"|"credit":"revenue"|within its deadline/.test(line)
      if (isOwn || /"status":500,.*"msg":"request"/.test(line)) note('an error in the log', line)
      if (seen.length > 100) return
      seen.push(line)
      for (const look of waiting) look()
    })
  }
  return {
    problems,
    last,
    async first (pattern: RegExp): Promise<RegExpExecArray> {
      return await new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(seen.join('\n'))
          if (found === null) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        child.once('exit', code => reject(new Error(`exit ${code}: ${seen.join('\n')}`)))
        look()
      })
    }
  }
}

function configFor (port: number): string {
  const timeouts = '{ connect_ms: 1000, first_byte_ms: 300, idle_ms: 300, total_ms: 2000 }'
  const provider = (id: string, protocol: string, path: string) =>
    `  - { id: ${id}, protocol: ${protocol}, base_url: "http://127.0.0.1:${port}${path}", api_key: ${providerKey}, timeouts: ${timeouts} }\n`
  const text = 'price: { input: 1, output: 2 }, context_window: 2000000, max_output: 1000, capabilities: { tools: true, vision: true, json_schema: true }'
  return `environment_providers: false
providers:
${provider('odd', 'openai', '/v1')}${provider('claude', 'anthropic', '/v1')}${provider('google', 'gemini', '/v1beta')}  - { id: sandbox, protocol: sandbox, video_ms: 0 }
models:
  - { id: odd-chat, provider: odd, model: up-chat, ${text} }
  - { id: odd-reasoning, provider: odd, model: up-reasoning, ${text.replace('tools', 'reasoning: true, tools')} }
  - { id: odd-claude, provider: claude, model: up-claude, ${text} }
  - { id: odd-gemini, provider: google, model: up-gemini, ${text} }
  - { id: odd-image, provider: odd, kind: image, model: up-image, price: { image: 0.01 }, images: { sizes: [64x64, 1024x1024] } }
  - { id: odd-video, provider: odd, kind: video, model: up-video, price: { second: 0.01 }, video: { seconds: [2, 4], sizes: ["320x180"] } }
  - { id: "m-emoji-😀", provider: sandbox, model: sandbox-chat, price: { input: 1, output: 2 } }
  - { id: "v-emoji-😀", provider: sandbox, kind: video, model: sandbox-video, price: { second: 0.01 }, video: { seconds: [2, 4], sizes: ["320x180"] } }
policies:
  - { id: "auto:emoji", models: ["m-*"] }
requests: { deadline_ms: 8000, retries: 1, backoff_ms: 10, max_retry_after_ms: 20 }
breaker: { failures: 1000, error_rate: 1, min_requests: 1000000, slow_factor: 1000 }
usage: { tags: [project] }
video: { heartbeat_after_ms: 500, heartbeat_every_ms: 500, max_hold_ms: 3000, polls_per_second: 1000 }
`
}
