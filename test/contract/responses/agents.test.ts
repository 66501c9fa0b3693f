import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { obedientChat } from '../../servers/obedient.ts'
import { reply, startUpstream } from '../../servers/upstream.ts'
import { orderProblems } from './event-order.ts'
import { gatherResponse } from './responses-client.ts'

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

t.test('thoughts come back by clients that return only what is encrypted', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.always(obedientChat)
  const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url)) })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'THINK It may rain.\nCALL look {}' }]
  const body = {
    model: 'chat',
    store: false,
    tools: [{ type: 'function' as const, name: 'look', parameters: { type: 'object' }, strict: false }]
  }
  const include = ['reasoning.encrypted_content' as const]
  for (const stream of [false, true]) {
    const asked = { ...body, input, include }
    const { output } = stream ? await gatherResponse(client, asked) : await client.responses.create(asked)
    const [thought, call] = output
    if (thought?.type !== 'reasoning' || call?.type !== 'function_call') throw new Error(JSON.stringify(output))
    t.type(thought.encrypted_content, 'string')
    const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'rain' }
    await client.responses.create({ ...body, include, input: [...input, thought, call, result] })
    t.match(upstream.requests.at(-1)?.body, { messages: [{}, { role: 'assistant', reasoning_content: 'It may rain.' }, {}] })
  }
  const { output } = await client.responses.create({ ...body, input })
  t.notOk('encrypted_content' in Object(output[0]), 'only where it is asked for')
})
