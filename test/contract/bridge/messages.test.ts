import type Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { ask } from '../messages/clients.ts'
import { answer, message, reasoning } from '../../servers/responses.ts'
import { bookedBy, call, lastBody, openBridge, pathsOf, usualNano } from './bridge-shop.ts'

// Anthropic's SDK reaches the same models, with tools and thinking.

const tools: Anthropic.Tool[] = [{
  name: 'get_weather', description: 'The weather.', input_schema: { type: 'object', properties: { city: { type: 'string' } } }
}]
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: `The weather in Rome? ${'word '.repeat(300)}` }]
const usual = { model: 'gpt-5.6-luna', max_tokens: 2000, messages, tools }

for (const isStream of [false, true]) {
  const how = isStream ? 'streamed' : 'whole'

  t.test(`tools, thinking, usage and its charge over two turns, ${how}`, async t => {
    const shop = await openBridge(t)
    const { claude, upstream } = shop
    upstream.script(answer({ output: [reasoning('gAAAA'), message('Let me look.'), call('Rome'), call('Oslo')] }), answer())
    const body = { ...usual, thinking: { type: 'enabled' as const, budget_tokens: 1024 } }
    const first = await ask(claude, body, isStream)
    t.match(first, {
      type: 'message',
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'call_Rome', name: 'get_weather', input: { city: 'Rome' } },
        { type: 'tool_use', id: 'call_Oslo', input: { city: 'Oslo' } }
      ],
      usage: { input_tokens: 800, cache_read_input_tokens: 200, output_tokens: 100 }
    })
    t.match(lastBody(shop), { reasoning: { effort: 'low', summary: 'auto' }, max_output_tokens: 2000, store: false })
    t.match(await bookedBy(shop), [{ amount: usualNano, estimated: 0 }])
    const results = first.content.flatMap((block): Anthropic.ToolResultBlockParam[] =>
      block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: '20 degrees' }] : [])
    const turns = [...messages, { role: 'assistant' as const, content: first.content }, { role: 'user' as const, content: results }]
    const last = await ask(claude, { ...body, messages: turns }, isStream)
    t.match(last, { stop_reason: 'end_turn', content: [{ type: 'text', text: 'Good day.' }] })
    t.match(lastBody(shop).input, [
      { role: 'user' },
      { type: 'reasoning', encrypted_content: 'gAAAA' },
      { role: 'assistant', content: 'Let me look.', phase: 'commentary' },
      { type: 'function_call', call_id: 'call_Rome' },
      { type: 'function_call', call_id: 'call_Oslo' },
      { type: 'function_call_output', call_id: 'call_Rome', output: '20 degrees' },
      { type: 'function_call_output', call_id: 'call_Oslo' }
    ])
    t.same(pathsOf(shop), ['/v1/responses', '/v1/responses'])
    t.equal((await bookedBy(shop)).length, 2)
  })

  t.test(`an answer that is cut says so, ${how}`, async t => {
    const { claude, upstream } = await openBridge(t)
    upstream.script(answer({ status: 'incomplete' }))
    t.match(await ask(claude, usual, isStream), { stop_reason: 'max_tokens' })
  })
}
