import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFor, providerAt, startGateway } from '../helper.ts'
import { reply, startUpstream } from '../upstream.ts'
import { inFolder, installed, runProgram } from './agent.ts'

/** The version whose transcript is in test/fixtures/agents. */
const version = '0.169.0'
/** Unknown to Codex, as a model of another provider is. */
const model = 'chat'

const patch = '*** Begin Patch\n*** Update File: greeting.txt\n@@\n-Hello\n+Good day\n*** End Patch\n'
/** Codex applies the patch itself and runs no shell. */
const command = `apply_patch <<'EOF'\n${patch}EOF`

/**
 * Has Codex do a task: the model behind the gateway asks for a patch, Codex applies it, sends the result back
 * and ends. `record` gets the bodies that it sent. False if it cannot be installed.
 */
export async function runCodex (record: (transcript: unknown) => Promise<void>): Promise<boolean> {
  let ran = false
  await inFolder('codex', async folder => {
    if (!await installed(folder, `@openai/codex@${version}`)) return
    const [home, work] = [join(folder, 'home'), join(folder, 'work')]
    await Promise.all([mkdir(home), mkdir(work)])
    await writeFile(join(work, 'greeting.txt'), 'Hello\n')
    await withGateway(async ({ url, key, upstream, sent }) => {
      await writeFile(join(home, 'config.toml'), configuration(url))
      upstream.script(
        reply({ tools: [{ name: 'exec_command', arguments: JSON.stringify({ cmd: command }) }] }),
        reply({ text: 'The greeting is polite now.' })
      )
      const { code, output } = await runProgram(join(folder, 'node_modules', '.bin', 'codex'),
        ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', 'Make the greeting polite.'],
        { cwd: work, env: { ...process.env, CODEX_HOME: home, TOLLGATE_KEY: key } })
      const requests = upstream.requests.map(({ body }) => Object(body))
      assert.equal(code, 0, output)
      assert.match(output, /The greeting is polite now\./)
      assert.equal(await readFile(join(work, 'greeting.txt'), 'utf8'), 'Good day\n', output)
      assert.equal(requests.length, 2)
      const [asked, result] = requests[1].messages.slice(-2)
      assert.deepEqual(JSON.parse(asked.tool_calls[0].function.arguments), { cmd: command })
      assert.equal(result.tool_call_id, asked.tool_calls[0].id)
      assert.match(result.content, /Success|greeting\.txt/)
      await record(sent)
      ran = true
    })
  })
  return ran
}

function configuration (url: string): string {
  return `model = "${model}"
model_provider = "tollgate"
web_search = "disabled"
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

async function withGateway (work: (started: Started) => Promise<void>): Promise<void> {
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
