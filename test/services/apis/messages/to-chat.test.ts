import t from 'tap'
import type { CreateMessageRequest } from '../../../../schemas/anthropic/messages.ts'
import { nativeNeedOf, refuseUnpriced } from '../../../../services/apis/messages/native-needs.ts'
import { sealThinking } from '../../../../services/apis/messages/sealed-thinking.ts'
import { toChat } from '../../../../services/apis/messages/to-chat.ts'
import { thrown } from '../../../helpers/thrown.ts'

type Fields = Partial<CreateMessageRequest>

const request = (more: Fields = {}): CreateMessageRequest => ({
  model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...more
})
const chat = (more: Fields = {}) => toChat(request(more))
const messagesOf = (...messages: CreateMessageRequest['messages']) => chat({ messages }).messages

t.test('plain requests', async t => {
  t.same(chat(), { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] })
  t.same(chat({ system: 'Be kind.' }).messages[0], { role: 'system', content: 'Be kind.' })
  t.same(chat({ system: [{ type: 'text', text: 'Be' }, { type: 'text', text: 'kind.' }] }).messages[0], { role: 'system', content: 'Be\n\nkind.' })
  t.match(chat({ stream: true }), { stream: true, stream_options: { include_usage: true } })
  t.match(chat({ stop_sequences: ['END'], temperature: 0.5, top_p: 0.9, top_k: 5 }), { stop: ['END'], temperature: 0.5, top_p: 0.9, top_k: 5 })
  t.match(chat({ metadata: { user_id: 'u1' }, service_tier: 'standard_only' }), { user: 'u1', service_tier: 'default' })
  t.match(chat({ metadata: { user_id: 'x'.repeat(65) } }), { user: /^[0-9a-f]{64}$/ })
  t.match(chat({ fallbacks: ['other'], routing: { cost_quality: 3 } }), { fallbacks: ['other'], routing: { cost_quality: 3 } })
})

t.test('thinking is a reasoning effort', async t => {
  const effort = (more: Fields) => chat(more).reasoning_effort
  t.equal(effort({}), undefined)
  t.equal(effort({ thinking: { type: 'adaptive' } }), undefined)
  t.equal(effort({ thinking: { type: 'disabled' } }), 'none')
  t.equal(effort({ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }), 'none')
  for (const [budget, expected] of [[1024, 'low'], [4096, 'medium'], [16_383, 'medium'], [16_384, 'high']] as const) {
    t.equal(effort({ thinking: { type: 'enabled', budget_tokens: budget } }), expected, String(budget))
  }
  t.equal(effort({ output_config: { effort: 'xhigh' }, thinking: { type: 'enabled', budget_tokens: 1024 } }), 'xhigh')
  // The latest message of the operator's counts.
  const messages: CreateMessageRequest['messages'] = [
    { role: 'user', content: 'Hi' }, { role: 'system', content: 'a', output_config: { effort: 'low' } }
  ]
  t.equal(effort({ messages, output_config: { effort: 'high' } }), 'low')
})

t.test('tools and choices', async t => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const tools = [
    { name: 'weather', description: 'Says it.', input_schema: schema, input_examples: [{ city: 'Bern' }] },
    { type: 'custom', name: 'time', input_schema: { type: 'object' }, strict: true }
  ]
  t.same(chat({ tools }).tools, [
    { type: 'function', function: { name: 'weather', description: 'Says it.\n\nExamples of its input:\n{"city":"Bern"}', parameters: schema } },
    { type: 'function', function: { name: 'time', parameters: { type: 'object' }, strict: true } }
  ])
  const choice = (asked: NonNullable<Fields['tool_choice']>) => {
    const { tool_choice: choice, parallel_tool_calls: parallel } = chat({ tools, tool_choice: asked })
    return [choice, parallel]
  }
  t.same(choice({ type: 'auto' }), ['auto', undefined])
  t.same(choice({ type: 'auto', disable_parallel_tool_use: true }), ['auto', false])
  t.same(choice({ type: 'any' }), ['required', undefined])
  t.same(choice({ type: 'none' }), ['none', undefined])
  t.same(choice({ type: 'tool', name: 'time', disable_parallel_tool_use: true }), [{ type: 'function', function: { name: 'time' } }, false])
  t.match(thrown(() => chat({ tools: [{ name: 'a' }] })), { status: 400, param: 'tools[0].input_schema' })
})

t.test('tools may be deferred, found, added and taken away', async t => {
  const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: 'object' }, ...more })
  const names = (messages: CreateMessageRequest['messages']) =>
    chat({ messages, tools: [tool('a'), tool('b', { defer_loading: true })] }).tools?.map(tool => tool.type === 'function' && tool.function.name)
  const user = { role: 'user' as const, content: 'Hi' }
  t.same(names([user]), ['a'])
  const found = { type: 'tool_reference' as const, tool_name: 'b' }
  t.same(names([user, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [found] }] }]), ['a', 'b'])
  t.same(names([user, {
    role: 'system',
    content: [
      { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('c') } },
      { type: 'tool_addition', tool: { type: 'tool_reference', name: 'b' } },
      { type: 'tool_removal', tool: { type: 'tool_reference', name: 'a' } }
    ]
  }]), ['c', 'b'])
})

t.test('images and documents', async t => {
  const png = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA' } }
  t.same(messagesOf({
    role: 'user',
    content: [
      { type: 'text', text: 'Look' }, png,
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'a.pdf' },
      { type: 'document', source: { type: 'url', url: 'https://example.com/b.pdf' } }
    ]
  }), [{
    role: 'user',
    content: [
      { type: 'text', text: 'Look' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
      { type: 'file', file: { filename: 'document.pdf', file_data: 'https://example.com/b.pdf' } }
    ]
  }])
  t.same(messagesOf({
    role: 'user',
    content: [
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'abc' }, title: 'A' },
      { type: 'document', source: { type: 'content', content: 'def' } },
      { type: 'search_result', source: 's', title: 'B', content: [{ type: 'text', text: 'ghi' }] }
    ]
  }), [{
    role: 'user',
    content: '<document title="A">\nabc\n</document>\n\n<document>\ndef\n</document>\n\n<search_result source="s" title="B">\nghi\n</search_result>'
  }])
})

t.test('results of tools, with images and errors, come before what the user says', async t => {
  const png = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA' } }
  t.same(messagesOf(
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'text', text: 'Well' }, { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } }, { type: 'tool_use', id: 't2', name: 'g', input: {} }] },
    { role: 'user', content: [{ type: 'text', text: 'And?' }, { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'seen' }, png] }, { type: 'tool_result', tool_use_id: 't2', is_error: true, content: 'broken' }] },
    { role: 'system', content: 'Hurry.' }
  ), [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: 'Well',
      tool_calls: [
        { id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { id: 't2', type: 'function', function: { name: 'g', arguments: '{}' } }
      ]
    },
    { role: 'tool', tool_call_id: 't1', content: 'seen' },
    { role: 'tool', tool_call_id: 't2', content: 'Error: broken' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'And?' },
        { type: 'text', text: 'From the result of the tool call t1:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'text', text: '<system>\nHurry.\n</system>' }
      ]
    }
  ])
})

t.test('messages of the system at the beginning are instructions, and cleared ones are gone', async t => {
  t.same(messagesOf(
    { role: 'system', content: 'First.' }, { role: 'user', content: 'Hi' },
    { role: 'system', content: 'For one turn.', clear_at: 'next_user_message' }, { role: 'user', content: 'Go on' },
    { role: 'system', content: 'For now.', clear_at: 'next_user_message' }
  ), [
    { role: 'system', content: 'First.' },
    { role: 'user', content: 'Hi\n\nGo on\n\n<system>\nFor now.\n</system>' }
  ])
})

t.test('thoughts go back to the provider they came from', async t => {
  const extra = { google: { thought_signature: 'AbC=' } }
  const detail = { type: 'reasoning.encrypted', data: 'gAAA', index: 0 }
  const [, said] = messagesOf({ role: 'user', content: 'Hi' }, {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm. ', signature: sealThinking({ extras: { t1: extra }, details: [detail] }) },
      { type: 'thinking', thinking: '', signature: sealThinking({ text: 'Hidden.' }) },
      { type: 'tool_use', id: 't1', name: 'f', input: {} }
    ]
  })
  t.match(said, { content: null, reasoning_content: 'Hm. Hidden.', reasoning_details: [detail], tool_calls: [{ id: 't1', extra_content: extra }] })
  const [, claude] = messagesOf({ role: 'user', content: 'Hi' }, {
    role: 'assistant',
    content: [{ type: 'thinking', thinking: 'Hm.', signature: 'Eqo' }, { type: 'redacted_thinking', data: 'xyz' }, { type: 'text', text: 'Yes' }]
  })
  t.match(claude, {
    content: 'Yes',
    reasoning_details: [
      { type: 'reasoning.text', text: 'Hm.', signature: 'Eqo', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'xyz', format: 'anthropic-claude-v1', index: 1 }
    ]
  })
  // Cut or changed on the way.
  const [, broken] = messagesOf({ role: 'user', content: 'Hi' }, { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'tollgate.?' }] })
  t.match(broken, { reasoning_content: 'Hm.', reasoning_details: undefined })
})

t.test('structured outputs, strict where the schema allows it', async t => {
  const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  const format = (schema: Record<string, unknown>) => chat({ output_config: { format: { type: 'json_schema', schema } } }).response_format
  t.same(format(closed), { type: 'json_schema', json_schema: { name: 'answer', schema: closed, strict: true } })
  t.match(format({ ...closed, required: [] }), { json_schema: { strict: false } })
  t.match(format({ ...closed, properties: { a: { type: 'array', items: { type: 'object', properties: {} } } } }), { json_schema: { strict: false } })
  t.match(chat({ output_format: { type: 'json_schema', schema: closed } }).response_format, { json_schema: { strict: true } })
})

t.test('what has no price, or belongs to others, is refused by its name', async t => {
  const file = { type: 'file' as const, file_id: 'file_1' }
  const cases: [Fields, string][] = [
    [{ container: 'c' }, 'container'],
    [{ inference_geo: 'us' }, 'inference_geo'],
    [{ mcp_servers: [{}] }, 'mcp_servers'],
    [{ speed: 'fast' }, 'speed'],
    [{ tools: [{ type: 'code_execution_20260120', name: 'code_execution' }], tool_choice: { type: 'any' } }, 'tools[0]'],
    [{ tools: [{ type: 'web_fetch_20260309', name: 'web_fetch' }], tool_choice: { type: 'tool', name: 'web_fetch' } }, 'tools[0]'],
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, 'context_management.edits[0]'],
    [{ messages: [{ role: 'user', content: [{ type: 'image', source: file }] }] }, 'messages[0].content[0]'],
    [{ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'document', source: file }] }] }] }, 'messages[0].content[0].content[0]']
  ]
  for (const [fields, param] of cases) {
    t.match(thrown(() => refuseUnpriced(request(fields))), { status: 400, param }, param)
  }
  refuseUnpriced(request({ container: null, inference_geo: 'global', mcp_servers: [], speed: 'standard', tools: [{ type: 'bash_20250124', name: 'bash' }] }))
})

t.test('what only providers with this API can do is known', async t => {
  const cases: [Fields, string | null][] = [
    [{}, null],
    [{ tools: [{ name: 'a', input_schema: {} }], context_management: { edits: [{ type: 'clear_thinking_20251015' }] } }, null],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, null],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'any' } }, 'tools[0]'],
    [{ tools: [{ name: 'a', input_schema: {}, allowed_callers: ['code_execution_20260120'] }] }, 'tools[0].allowed_callers'],
    [{ stop_sequences: ['1', '2', '3', '4', '5'] }, 'stop_sequences'],
    [{ thinking: { type: 'between_tools' } }, 'thinking.type'],
    [{ context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, 'context_management.edits[0]'],
    [{ messages: [{ role: 'assistant', content: [{ type: 'server_tool_use' }] }] }, 'messages[0].content[0]'],
    [{ messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'content', content: 'a' }, citations: { enabled: true } }] }] }, 'messages[0].content[0].citations'],
    [{ messages: [{ role: 'system', content: [{ type: 'tool_addition', tool: { type: 'mcp_tool_reference' } }] }] }, 'messages[0].content[0].tool']
  ]
  for (const [fields, param] of cases) t.equal(nativeNeedOf(request(fields))?.param ?? null, param)
})
