import type Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { ask } from '../messages/clients.ts'
import { rejection } from '../../helpers/thrown.ts'
import { lastBody, openBridge, pathsOf } from './bridge-shop.ts'

// Claude's marks of cached prefixes become OpenAI's, for the models that take them.

const tools: Anthropic.Tool[] = [{ name: 'get_weather', input_schema: { type: 'object' } }]
const usual = { model: 'gpt-5.6-luna', max_tokens: 2000, messages: [{ role: 'user' as const, content: 'Rome?' }], tools }
const marked = { cache_control: { type: 'ephemeral' as const } }
const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } }

for (const isStream of [false, true]) {
  t.test(`marks reach both APIs, ${isStream ? 'streamed' : 'whole'}`, async t => {
    const shop = await openBridge(t)
    const { claude } = shop
    const body: Anthropic.MessageCreateParamsNonStreaming = {
      ...usual,
      system: [{ type: 'text', text: 'You are an agent.' }, { type: 'text', text: 'Be brief.', ...marked }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Rome?' }, { type: 'text', text: 'Now.', ...marked }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'get_weather', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: '20' }], ...marked }] }
      ]
    }
    await ask(claude, body, isStream)
    t.match(lastBody(shop), {
      prompt_cache_options: { mode: 'explicit' },
      input: [
        { role: 'system', content: [{ type: 'input_text', text: 'You are an agent.' }, { type: 'input_text', text: 'Be brief.', ...breakpoint }] },
        { role: 'user', content: [{ type: 'input_text', text: 'Rome?' }, { type: 'input_text', text: 'Now.', ...breakpoint }] },
        { type: 'function_call', call_id: 'call_1' },
        { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: '20', ...breakpoint }] }
      ]
    })
    await ask(claude, { ...body, thinking: { type: 'disabled' } }, isStream)
    t.equal(pathsOf(shop).at(-1), '/v1/chat/completions')
    t.match(lastBody(shop), {
      prompt_cache_options: { mode: 'explicit' },
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'You are an agent.' }, { text: 'Be brief.', ...breakpoint }] },
        { role: 'user', content: [{ text: 'Rome?' }, { text: 'Now.', ...breakpoint }] },
        { role: 'assistant' },
        { role: 'tool', content: [{ type: 'text', text: '20', ...breakpoint }] }
      ]
    })
  })
}

t.test('marks are left to the provider, or out, where they mean nothing', async t => {
  const system = [{ type: 'text' as const, text: 'Be brief.', ...marked }]
  const all = await openBridge(t)
  await all.claude.messages.create({ ...usual, system, ...marked })
  t.notOk('prompt_cache_options' in lastBody(all), 'the last mark is where the provider sets it')
  t.match(lastBody(all).input, [{ content: [breakpoint] }])
  for (const [model, dialect] of [['gpt-5.4', 'openai'], ['gpt-5.6-luna', 'azure'], ['gpt-5.6-luna', 'compatible']] as const) {
    const shop = await openBridge(t, { model, provider: { dialect } })
    await rejection(shop.claude.messages.create({ ...usual, model, system, thinking: { type: 'disabled' } })).catch(() => {})
    t.notMatch(JSON.stringify(lastBody(shop)), /prompt_cache_breakpoint|prompt_cache_options|cache_control/, `${model} ${dialect}`)
  }
})
