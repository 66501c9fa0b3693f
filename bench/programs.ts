import { mkdtemp, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Program } from './child.ts'
import { freeModel, model, pricedModel } from './requests.ts'

/** The provider of all servers under test. */
export const upstreamProgram: Program = beside('upstream.ts')

/** The client that sends all requests. */
export const loadProgram: Program = beside('load.ts')

/** The reference: the same work on bare `node:http` and undici. */
export function bareProgram (upstreamUrl: string): Program {
  return { ...beside('bare.ts'), env: { UPSTREAM_URL: upstreamUrl, PORT: '0' } }
}

/**
 * The program to compare with the reference: `tollgate`, `bare`, or the file of a server that reads
 * UPSTREAM_URL and PORT and prints its base URL. Its data is stored in a new folder in `workspace`.
 */
export async function subjectProgram (
  name: string, upstreamUrl: string, workspace: string
): Promise<Program> {
  if (name === 'tollgate') return await tollgateProgram(upstreamUrl, workspace)
  if (name === 'bare') return bareProgram(upstreamUrl)
  return { ...bareProgram(upstreamUrl), file: resolve(name) }
}

/** Tollgate with its default settings and an empty database. */
async function tollgateProgram (upstreamUrl: string, workspace: string): Promise<Program> {
  const cwd = await mkdtemp(join(workspace, 'tollgate-'))
  await writeFile(join(cwd, 'gateway.yaml'), gatewayYaml(upstreamUrl))
  return {
    file: fileURLToPath(new URL('../bin/start.js', import.meta.url)),
    // As `npm start` does.
    nodeOptions: ['--max-semi-space-size=16'],
    cwd,
    env: {
      MALLOC_ARENA_MAX: '2',
      HOST: '127.0.0.1',
      PORT: '0',
      TOLLGATE_CONFIG: join(cwd, 'gateway.yaml'),
      TOLLGATE_STARTING_CREDIT: '1000000',
      // A busy machine must not cause load shedding.
      TOLLGATE_MAX_LAG_MS: '60000'
    },
    needsKey: true
  }
}

function gatewayYaml (upstreamUrl: string): string {
  return `providers:
  - id: upstream
    dialect: openai
    base_url: ${upstreamUrl}
    api_key: sk-bench
models:
${[modelYaml(model, priced), modelYaml(pricedModel, priced), modelYaml(freeModel, free)].join('')}`
}

const priced = '{ input: 0.15, output: 0.6 }'
const free = '{ input: 0, output: 0 }'

function modelYaml (id: string, price: string): string {
  return `  - id: ${id}
    provider: upstream
    model: ${model}
    price: ${price}
    context_window: 128000
    max_output: 16384
`
}

function beside (name: string): Program {
  const file = fileURLToPath(new URL(name, import.meta.url))
  return { file, cwd: fileURLToPath(new URL('..', import.meta.url)), env: {}, needsKey: false }
}
