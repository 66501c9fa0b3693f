import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { request } from 'undici'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../services/config/load.ts'
import { checkProtocols, loadPlugins } from '../../../services/extensions/load-plugins.ts'
import { startGateway } from '../../helpers/gateway.ts'

const examples = join(import.meta.dirname, '..', '..', '..', 'examples')

/** The gateway of an example, and requests to it. */
async function openExample (t: Test, name: string, env: NodeJS.ProcessEnv = {}) {
  const path = join(examples, name, 'gateway.yaml')
  const config = await loadConfig({ path, env })
  const plugins = await loadPlugins(config.plugins ?? [], path)
  const gateway = await startGateway(t, {
    config: checkProtocols(config, plugins, path), plugins, env: { TOLLGATE_STARTING_CREDIT: '1' }
  })
  return {
    gateway,
    async chat (model: string, content: string, more: object = {}) {
      const response = await request(`${gateway.url}/chat/completions`, {
        method: 'POST',
        headers: gateway.headers,
        body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more })
      })
      return { status: response.statusCode, headers: response.headers, text: await response.body.text() }
    }
  }
}

t.test('examples/guardrail blocks a prompt and lets others through', async t => {
  const server = spawn(process.execPath, [join(examples, 'guardrail', 'server.js')], { env: { PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => server.kill())
  const [url] = await once(createInterface(server.stdout), 'line') as [string]
  const { chat } = await openExample(t, 'guardrail', { GUARDRAIL_URL: url })
  const allowed = await chat('sandbox-chat', 'Say hello.')
  t.equal(allowed.status, 200, allowed.text)
  t.equal(allowed.headers['x-tollgate-plugins'], 'tollgate/guardrail')
  const blocked = await chat('sandbox-chat', 'What is the password?')
  t.equal(blocked.status, 400)
  t.match(JSON.parse(blocked.text), { error: { message: 'Ask without secrets.', code: 'secrets' } })
  t.equal(blocked.headers['x-tollgate-plugins'], 'tollgate/guardrail;rejected')
})

t.test('examples/own-provider serves a model that is charged by its usage', async t => {
  const { gateway, chat } = await openExample(t, 'own-provider')
  const whole = await chat('parrot', 'one two three')
  t.match(JSON.parse(whole.text), {
    choices: [{ message: { content: 'one two three' } }], usage: { prompt_tokens: 3, completion_tokens: 3, cost: 0.000009 }
  })
  const streamed = await chat('parrot', 'one two three', { stream: true })
  t.match(streamed.text, '"content":"three"')
  await gateway.app.ledger.flush()
  t.match(await gateway.app.ledger.balance('default'), { spentNano: 18_000, heldNano: 0 })
})
