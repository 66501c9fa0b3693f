import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { complaintAboutEvents } from '../helpers/message-grammar.ts'
import { reply, startUpstream } from '../servers/upstream.ts'
import { startClaudePair } from './messages/clients.ts'

// What programs send, recorded by `npm run test:agents -- --record`; Codex's is in responses/agents.test.ts.

interface Recorded { session: string, betas: string[], body: object }

const readTranscript = async (name: string): Promise<Recorded[]> => {
  return JSON.parse(await readFile(join(import.meta.dirname, '..', 'fixtures', 'agents', `${name}.json`), 'utf8'))
}

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url, { dialect: 'openai' }), { id: 'gpt-5-mini' }) })
const post = (path: string, body: object, headers: Record<string, string> = {}) => {
  return fetch(`${gateway.url}${path}`, { method: 'POST', headers: { ...gateway.headers, ...headers }, body: JSON.stringify(body) })
}
const lastBody = () => Object(upstream.requests.at(-1)?.body)

/** Claude Code 2.1.332 with a model that is not Claude. */
const claudeCode = await readTranscript('claude-code')

t.test('what Claude Code sends is understood, and names its conversation', async t => {
  const names = new Set<string>()
  for (const { session, betas, body } of claudeCode) {
    upstream.script(reply({ tools: [{ name: 'Read', arguments: '{"file_path":"/tmp/a"}' }] }))
    const response = await post('/messages?beta=true', body, {
      'anthropic-version': '2023-06-01', 'anthropic-beta': betas.join(), 'x-claude-code-session-id': session
    })
    t.equal(response.status, 200)
    const events = (await response.text()).trim().split('\n\n').map(block => JSON.parse(block.slice(block.indexOf('{'))))
    t.equal(complaintAboutEvents(events), null)
    t.match(events.filter(({ type }) => type === 'content_block_start'), [{ content_block: { type: 'tool_use', name: 'Read' } }])
    names.add(lastBody().prompt_cache_key)
  }
  t.match(lastBody().messages.slice(-4), [
    { role: 'assistant', tool_calls: [{ function: { name: 'Read' } }] },
    { role: 'tool', content: /Hello/ },
    { role: 'assistant', tool_calls: [{ function: { name: 'Edit', arguments: /Good day/ } }] },
    { role: 'tool', content: /updated successfully/ }
  ])
  const tools: string[] = lastBody().tools.map((tool: { function: { name: string } }) => tool.function.name)
  t.ok(tools.includes('Edit'))
  t.notOk(tools.includes('DeferredToolPlaceholder'), 'it can be called once it was found')
  t.equal(names.size, 1)
  t.type([...names][0], 'string')
  await (await post('/messages', claudeCode[0]?.body ?? {}, { 'x-claude-code-session-id': 'another' })).text()
  t.notOk(names.has(lastBody().prompt_cache_key))
  await (await post('/messages', claudeCode[0]?.body ?? {})).text()
  t.notOk('prompt_cache_key' in lastBody())
})

t.test('Claude gets it as it is, with the names of the betas', async t => {
  const { gateway, server } = await startClaudePair(t, { id: 'gpt-5-mini' })
  for (const { betas, body } of claudeCode) {
    const headers = { ...gateway.headers, 'anthropic-version': '2023-06-01', 'anthropic-beta': betas.join() }
    const sent = { ...body, thinking: { type: 'disabled' }, output_config: undefined }
    await (await fetch(`${gateway.url}/messages?beta=true`, { method: 'POST', headers, body: JSON.stringify(sent) })).text()
    const { headers: received, body: forwarded } = server.requests.at(-1) ?? {}
    t.equal(received?.['anthropic-beta'], betas.join())
    t.same(forwarded, JSON.parse(JSON.stringify({ ...sent, model: 'claude-sonnet-4-5' })))
  }
})

t.test('what aider 0.86.2 sends is understood', async t => {
  const transcript = await readTranscript('aider')
  for (const { body } of transcript) {
    upstream.script(reply({ text: ['<<<<<<< ', 'SEARCH'] }))
    const response = await post('/chat/completions', body)
    t.equal(response.status, 200)
    const events = (await response.text()).trim().split('\n\n').map(block => block.replace('data: ', ''))
    t.equal(events.pop(), '[DONE]')
    t.equal(events.map(text => JSON.parse(text).choices[0]?.delta.content ?? '').join(''), '<<<<<<< SEARCH')
    t.same(lastBody().messages.slice(1), Object(body).messages.slice(1))
  }
  t.ok(transcript.length > 0)
})
