import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseConfig } from '../../services/config/read/parse.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startAnthropic } from '../servers/anthropic.ts'
import { startGemini } from '../servers/gemini.ts'
import { obedientChat, obedientClaude, obedientGemini, obedientResponses } from '../servers/obedient.ts'
import { document, startUpstream, type Script, type UpstreamRequest } from '../servers/upstream.ts'
import { inFolder, loopbackOnly, runProgram } from './agent.ts'

// Agents with a base URL and a key alone, and so with their default models, on a gateway with one vendor.

const answer = 'It is a gateway.'
const prompt = `What is this?\nSAY ${answer}`
/** Agents name models of their vendor; a gateway without that vendor needs aliases. */
const aliases = 'aliases: { "claude-*": auto, "gpt-*": auto }'

const vendors = ['openai', 'anthropic', 'gemini'] as const
type Vendor = typeof vendors[number]

type Teardown = Parameters<typeof startGateway>[0]

interface Setup { origin: string, key: string, folder: string, env: NodeJS.ProcessEnv }
type Ask = (setup: Setup) => Promise<{ code: number | null, output: string }>

/** Has an agent respond on a gateway of each vendor; resolves to what was done, in words. */
async function askedAtEach (ask: Ask): Promise<string> {
  for (const vendor of vendors) await askedAt(vendor, ask)
  return `its default model on ${vendors.join(', ')}`
}

async function askedAt (vendor: Vendor, ask: Ask): Promise<void> {
  const closing: (() => unknown)[] = []
  try {
    const t = { teardown: (end: () => unknown) => { closing.push(end) } }
    const env = await environmentOf(vendor, t)
    const { url, key } = await startGateway(t, { config: parseConfig(aliases, env) })
    await inFolder('default', async folder => {
      const home = { PATH: process.env.PATH, HOME: folder, ...loopbackOnly }
      const { code, output } = await ask({ origin: new URL(url).origin, key, folder, env: home })
      assert.equal(code, 0, `${vendor}: ${output}`)
      assert.ok(output.includes(answer), `${vendor}: ${output}`)
    })
  } finally {
    for (const end of closing.toReversed()) await end()
  }
}

/** Starts the vendor's server; resolves to the environment of a gateway that uses it. */
async function environmentOf (vendor: Vendor, t: Teardown): Promise<NodeJS.ProcessEnv> {
  if (vendor === 'openai') {
    const server = await startUpstream({ route: scriptFor })
    t.teardown(() => server.close())
    return { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: server.url }
  }
  if (vendor === 'anthropic') {
    const server = await startAnthropic()
    t.teardown(() => server.close())
    server.always(obedientClaude)
    return { ANTHROPIC_API_KEY: 'sk-ant-secret', ANTHROPIC_BASE_URL: server.url }
  }
  const server = await startGemini()
  t.teardown(() => server.close())
  server.always(obedientGemini)
  return { GEMINI_API_KEY: 'gm-key', GEMINI_BASE_URL: server.baseUrl }
}

/** OpenAI, whose list has models of this year. */
function scriptFor ({ path }: UpstreamRequest): Script {
  const { pathname } = new URL(path, 'http://upstream')
  if (pathname.endsWith('/models')) return document('{"data":[{"id":"gpt-6.2-sol"},{"id":"gpt-6-luna"}]}')
  return pathname.endsWith('/responses') ? obedientResponses : obedientChat
}

/** Codex by `openai_base_url` and a key. */
export async function askCodex (program: string): Promise<string> {
  return await askedAtEach(async ({ origin, key, folder, env }) => {
    const home = join(folder, '.codex')
    await mkdir(home)
    await writeFile(join(home, 'config.toml'), `openai_base_url = "${origin}/v1"\n`)
    await writeFile(join(home, 'auth.json'), JSON.stringify({ OPENAI_API_KEY: key }))
    return await runProgram(program, ['exec', '--skip-git-repo-check', prompt], { cwd: folder, env })
  })
}

/** Claude Code by `ANTHROPIC_BASE_URL` and a key. */
export async function askClaudeCode (launcher: string): Promise<string> {
  return await askedAtEach(async ({ origin, key, folder, env }) => {
    return await runProgram(process.execPath, [launcher, '-p', prompt], {
      cwd: folder,
      env: {
        ...env,
        ANTHROPIC_BASE_URL: origin,
        ANTHROPIC_API_KEY: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1'
      }
    })
  })
}

/** Codex lists the gateway's models if it has a command for the key. */
export async function listByCodex (program: string): Promise<void> {
  const closing: (() => unknown)[] = []
  try {
    const t = { teardown: (end: () => unknown) => { closing.push(end) } }
    const env = await environmentOf('anthropic', t)
    const { url, key } = await startGateway(t, { config: parseConfig('', env) })
    await inFolder('codex-list', async folder => {
      await writeFile(join(folder, 'config.toml'), [
        'model_provider = "tollgate"', '[model_providers.tollgate]', 'name = "Tollgate"', `base_url = "${url}"`,
        'wire_api = "responses"', '[model_providers.tollgate.auth]', 'command = "echo"', `args = ["${key}"]`
      ].join('\n'))
      const { code, output } = await runProgram(program, ['debug', 'models'], {
        cwd: folder, env: { ...process.env, CODEX_HOME: folder }
      })
      assert.equal(code, 0, output)
      for (const name of ['auto', 'anthropic/claude-opus-5-5']) assert.ok(output.includes(`"slug":"${name}"`), name)
    })
  } finally {
    for (const end of closing.toReversed()) await end()
  }
}
