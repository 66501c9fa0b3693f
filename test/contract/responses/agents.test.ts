import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { configFor, providerAt, startGateway } from '../../helper.ts'
import { reply, startUpstream } from '../../upstream.ts'
import { orderProblems } from './event-order.ts'

/** What Codex 0.169.0 sends while it applies a patch, recorded by `npm run test:agents -- --record`. */
const fixture = join(import.meta.dirname, '..', '..', 'fixtures', 'agents', 'codex.json')

t.test('what Codex sends is understood', async t => {
  const transcript: object[] = JSON.parse(await readFile(fixture, 'utf8'))
  t.equal(transcript.length, 2)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url)) })
  for (const body of transcript) {
    upstream.script(reply({ tools: [{ name: 'multi_agent_v1__close_agent', arguments: '{"target":"a"}' }] }))
    const response = await fetch(`${gateway.url}/responses`, {
      method: 'POST', headers: gateway.headers, body: JSON.stringify(body)
    })
    t.equal(response.status, 200)
    const events = (await response.text()).trim().split('\n\n').map(block => JSON.parse(block.slice(block.indexOf('{'))))
    t.same(orderProblems(events), [])
    t.match(events.at(-1), { response: { output: [{ type: 'function_call', namespace: 'multi_agent_v1', name: 'close_agent' }] } })
  }
  t.match(Object(upstream.requests.at(-1)?.body).messages.slice(-2), [
    { role: 'assistant', tool_calls: [{ function: { name: 'exec_command', arguments: /apply_patch/ } }] },
    { role: 'tool', content: /Success/ }
  ])
})
