import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { reply, startUpstream } from '../servers/upstream.ts'
import { inFolder, installed, runProgram } from './agent.ts'
import { askCodex, listByCodex } from './defaults.ts'

/** The version whose transcript is in test/fixtures/agents. */
const pinned = '0.169.0'
const patch = '*** Begin Patch\n*** Update File: greeting.txt\n@@\n-Hello\n+Good day\n*** End Patch\n'
/** Codex applies the patch itself and runs no shell. */
const command = `apply_patch <<'EOF'\n${patch}EOF`
const answer = 'The greeting is polite now.'

/**
 * Has Codex do a task: the model behind the gateway asks for a patch, Codex applies it, sends the result back
 * and ends. Then it uses its default model, and lists the gateway's. `record` gets the bodies that it sent.
 * Null if it cannot be installed.
 */
export async function runCodex (
  record: (transcript: unknown) => Promise<void>, version = pinned
): Promise<string | null> {
  let done: string | null = null
  await inFolder('codex', async packages => {
    if (!await installed(packages, `@openai/codex@${version}`)) return
    const program = join(packages, 'node_modules', '.bin', 'codex')
    await record(await patchedByCommand(program))
    await patchedAfterSearch(program)
    await listByCodex(program)
    done = `a patch, the list of models and ${await askCodex(program)}`
  })
  return done
}

/** With a model that is unknown to Codex, as one of another provider is. Resolves to what Codex sent. */
async function patchedByCommand (program: string): Promise<unknown[]> {
  const { requests, sent } = await edited(program, 'chat', [
    { name: 'exec_command', arguments: JSON.stringify({ cmd: command }) }
  ])
  assert.equal(requests.length, 2)
  const [asked, result] = requests[1].messages.slice(-2)
  assert.deepEqual(JSON.parse(asked.tool_calls[0].function.arguments), { cmd: command })
  assert.equal(result.tool_call_id, asked.tool_calls[0].id)
  assert.match(result.content, /Success|greeting\.txt/)
  return sent
}

/** With a model that has to search for tools, and to which a patch is a custom tool. */
async function patchedAfterSearch (program: string): Promise<void> {
  const { requests } = await edited(program, 'gpt-5.5', [
    { name: 'tool_search', arguments: '{"query":"close agent"}' },
    { name: 'apply_patch', arguments: JSON.stringify({ input: patch }) }
  ])
  assert.equal(requests.length, 3)
  const hidden = 'multi_agent_v1__close_agent'
  const has = ({ tools }: ChatTools) => tools.some(tool => tool.function.name === hidden)
  assert.deepEqual(requests.map(has), [false, true, true])
  assert.match(requests[1].messages.at(-1).content, /multi_agent_v1__close_agent/)
}

interface ChatTools { tools: { function: { name: string } }[] }
interface Call { name: string, arguments: string }

/** Runs Codex, whose model makes the calls one by one; the file must be edited then. */
async function edited (program: string, model: string, calls: readonly Call[]) {
  let requests: ReturnType<typeof Object>[] = []
  let sent: unknown[] = []
  await inFolder('codex-task', async folder => {
    const [home, work] = [join(folder, 'home'), join(folder, 'work')]
    await Promise.all([mkdir(home), mkdir(work)])
    await writeFile(join(work, 'greeting.txt'), 'Hello\n')
    await withGateway(model, async gateway => {
      const { upstream } = gateway
      await writeFile(join(home, 'config.toml'), configuration(model, gateway.url))
      upstream.script(...calls.map(call => reply({ tools: [call] })), reply({ text: answer }))
      const { code, output } = await runProgram(program,
        ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', 'Make the greeting polite.'],
        { cwd: work, env: { ...process.env, CODEX_HOME: home, TOLLGATE_KEY: gateway.key } })
      assert.equal(code, 0, output)
      assert.ok(output.includes(answer), output)
      assert.equal(await readFile(join(work, 'greeting.txt'), 'utf8'), 'Good day\n', output)
      requests = upstream.requests.map(({ body }) => Object(body))
      sent = gateway.sent
    })
  })
  return { requests, sent }
}

function configuration (model: string, url: string): string {
  return `model = "${model}"
model_provider = "tollgate"
[model_providers.tollgate]
name = "Tollgate"
base_url = "${url}"
env_key = "TOLLGATE_KEY"
wire_api = "responses"
`
}

interface Started {
  url: string
  key: string
  upstream: Awaited<ReturnType<typeof startUpstream>>
  /** The bodies that the gateway has received. */
  sent: unknown[]
}

async function withGateway (model: string, work: (started: Started) => Promise<void>): Promise<void> {
  const closing: (() => unknown)[] = []
  const upstream = await startUpstream()
  try {
    const sent: unknown[] = []
    const gateway = await startGateway({ teardown: end => { closing.push(end) } }, {
      config: configFor(providerAt(upstream.url), { id: model }),
      beforeReady: async app => {
        app.addHook('preHandler', async ({ body }) => { if (body !== undefined) sent.push(body) })
      }
    })
    await work({ url: gateway.url, key: gateway.key, upstream, sent })
  } finally {
    for (const end of closing.toReversed()) await end()
    await upstream.close()
  }
}
