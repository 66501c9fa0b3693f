import { copyFile, mkdtemp, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { installed } from '../test/agents/agent.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { startServer, startWorker, type Child } from './child.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { measureCpu, runLoad, type Load } from './measure.ts'
import { hasNginx, startNginx } from './peers/nginx.ts'
import { bareProgram, loadProgram, subjectProgram, upstreamProgram } from './programs.ts'
import { scenarios, type Scenario } from './scenarios.ts'

// Tollgate beside other gateways and proxies, each in turn beside the bare relay, all before the same
// provider: CPU time per unit of work as the median of paired rounds, and memory after the first answer.

/** A server to measure. */
interface Peer {
  /** Null: it cannot be installed here. */
  start (upstreamUrl: string, workspace: string): Promise<Child | null>
  headers? (upstreamUrl: string): Record<string, string>
}

const { values, positionals } = parseArgs({
  allowPositionals: true, options: { rounds: { type: 'string', default: '5' } }
})

const peers: Readonly<Record<string, Peer>> = {
  'Tollgate, with a price': inTree('tollgate'),
  'plain Fastify': inTree(join(import.meta.dirname, 'plain-fastify.ts')),
  '@fastify/http-proxy': fromNpm('http-proxy.js', 'fastify@5', '@fastify/http-proxy@11.6.3'),
  Portkey: {
    ...fromNpm('portkey.js', '@portkey-ai/gateway@1.15.2'),
    headers: upstreamUrl => ({ 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstreamUrl })
  },
  nginx: { start: async (url, workspace) => hasNginx() ? await startNginx(url, workspace) : null }
}

const { json, long, stream } = scenarios
const measured = [{ ...json, load: { ...json.load, request: 'priced' as const } }, long, stream]

function inTree (name: string): Peer {
  return { start: async (url, workspace) => await startServer(await subjectProgram(name, url, workspace)) }
}

function fromNpm (file: string, ...packages: string[]): Peer {
  return {
    async start (upstreamUrl, workspace) {
      const folder = await mkdtemp(join(workspace, 'peer-'))
      await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
      if (!await installed(folder, ...packages)) return null
      await copyFile(join(import.meta.dirname, 'peers', file), join(folder, file))
      const env = { UPSTREAM_URL: upstreamUrl, PORT: String(await freePort()) }
      return await startServer({ file: join(folder, file), cwd: folder, env, needsKey: false })
    }
  }
}

await using workspace = await mkdtempDisposable(join(tmpdir(), 'bench-'))
await using upstream = await startServer(upstreamProgram)
await using generator = startWorker<LoadOrder, LoadResult>(loadProgram)
await using bare = await startServer(bareProgram(upstream.url))

printRow(['', 'JSON, 1 KB', '× bare', 'JSON, 50 KB', '× bare', 'a chunk', '× bare', 'memory, MiB'])
for (const [name, peer] of Object.entries(peers)) {
  const isWanted = positionals.some(wanted => name.toLowerCase().includes(wanted.toLowerCase()))
  if (!isWanted && positionals.length > 0) continue
  // A wrong answer of one does not end the others.
  printRow([name, ...await measurePeer(peer).catch((error: Error) => [firstLine(error)])])
}
console.log('CPU time in µs, the median of paired rounds (lowest–highest ratio).')

function printRow (cells: readonly string[]): void {
  console.log(`| ${cells.join(' | ')} |`)
}

async function measurePeer (peer: Peer): Promise<string[]> {
  await using server = await peer.start(upstream.url, workspace.path)
  if (server === null) return ['cannot be installed here']
  const headers = peer.headers?.(upstream.url) ?? {}
  const load: Load = async order => await generator.run({ ...order, headers })
  await runLoad(load, { request: 'short', count: 1, concurrency: 1, url: server.url, key: server.key })
  const { rssBytes } = await server.usage()
  const cells: string[] = []
  for (const scenario of measured) {
    const figures = await measureScenario(scenario, server, load)
      .catch((error: Error) => [firstLine(error), ''])
    cells.push(...figures)
  }
  return [...cells, (rssBytes / 2 ** 20).toFixed(0)]
}

/** Returns the CPU time per unit of work, and its ratio. */
async function measureScenario (scenario: Scenario, server: Child, load: Load): Promise<string[]> {
  const pair = { bare, subject: server }
  const { subject, ratio } = await measureCpu(pair, scenario, load, Number(values.rounds))
  const [middle, min, max] = [ratio?.middle, ratio?.min, ratio?.max].map(value => value?.toFixed(2))
  return [subject.middle.toFixed(0), `${middle} (${min}–${max})`]
}

function firstLine ({ message }: Error): string {
  return message.split('\n', 1).join()
}
