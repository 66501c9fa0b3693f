import t from 'tap'
import type Anthropic from '@anthropic-ai/sdk'
import type { ChatCompletionRequest } from '../../../../schemas/openai/chat-completions.ts'
import { toMessagesRequest } from '../../../../services/providers/anthropic/request.ts'
import type { MessagesRequest } from '../../../../services/providers/anthropic/wire.ts'
import { complaintAbout } from '../../../servers/anthropic-rules.ts'
import { sign } from '../../../servers/anthropic.ts'
import { thrown } from '../../../helpers/thrown.ts'

type Fields = Partial<ChatCompletionRequest> & Record<string, unknown>

type Json = Record<string, unknown>

const user = { role: 'user' as const, content: 'Hi' }

/** Translates, and has the rules of the API check what comes out. */
function translate (fields: Fields, model = 'claude-sonnet-4-6', limits: object = {}) {
  const request = { model: 'chat', messages: [user], ...fields }
  return toMessagesRequest({ body: request, model, outputLimit: null, ...limits })
}

function accepted (fields: Fields, model?: string, limits?: object) {
  const translation = translate(fields, model, limits)
  const sent = JSON.parse(JSON.stringify(translation.body))
  t.equal(complaintAbout(sent, sign), null, JSON.stringify(fields).slice(0, 80))
  return translation
}

const bodyOf = (...question: Parameters<typeof accepted>) => accepted(...question).body
const droppedBy = (...question: Parameters<typeof accepted>) => accepted(...question).dropped
const refused = (fields: Fields, model?: string) => thrown(() => translate(fields, model))

// Held by the compiler: what is sent is what Anthropic's own types allow, but for the older sampling.
type Unsampled = Omit<MessagesRequest, 'temperature' | 'top_p' | 'top_k'>
const typed = (body: Unsampled): Anthropic.MessageCreateParams => body

t.test('a plain request has an output limit and no other defaults', async t => {
  t.same(typed(bodyOf({})), {
    model: 'claude-sonnet-4-6', max_tokens: 128_000, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]
  })
  t.equal(bodyOf({ max_tokens: 5, max_completion_tokens: 7 }).max_tokens, 5, 'the lower one')
  t.equal(bodyOf({}, 'claude-3-haiku-20240307').max_tokens, 4096)
  t.equal(bodyOf({}, undefined, { outputLimit: 99, maxOutput: 64_000 }).max_tokens, 99, 'the money\'s limit')
  t.equal(bodyOf({}, undefined, { maxOutput: 64_000 }).max_tokens, 64_000, 'the model\'s, which was held')
  t.equal(bodyOf({ max_tokens: 500_000 }, undefined, { maxOutput: 64_000 }).max_tokens, 64_000)
  t.equal(bodyOf({ stream: true, stream_options: { include_usage: true } }).stream, true)
})

t.test('system messages at the start are the system prompt, later ones stay in place', async t => {
  const { system, messages } = bodyOf({
    messages: [
      { role: 'system', content: 'A' }, { role: 'developer', content: [{ type: 'text', text: 'B' }] },
      user, { role: 'system', content: 'C' }, { role: 'user', content: 'D', name: 'ann' }
    ]
  })
  t.same(system, [{ type: 'text', text: 'A' }, { type: 'text', text: 'B' }])
  t.same(messages, [{
    role: 'user',
    content: ['Hi', '<system>\nC\n</system>', 'D'].map(text => ({ type: 'text', text }))
  }], 'one turn')
})

t.test('tool results come first in their message, in any order', async t => {
  const call = (id: string, text: string) => ({ id, type: 'function' as const, function: { name: 'f', arguments: text } })
  const { messages, tools, tool_choice: choice } = bodyOf({
    messages: [
      user,
      { role: 'assistant', content: null, tool_calls: [call('call_1', '{"a":1}'), call('call_2.x', ''), call('c3', 'no JSON')] },
      { role: 'tool', tool_call_id: 'call_2.x', content: '' },
      { role: 'user', content: 'And?' },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'r1' }] },
      { role: 'tool', tool_call_id: 'c3', content: 'r3' },
      { role: 'assistant', content: 'So ' }
    ]
  })
  t.same(messages.slice(1), [
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } },
        { type: 'tool_use', id: 'call_2_x', name: 'f', input: {} },
        { type: 'tool_use', id: 'c3', name: 'f', input: { arguments: 'no JSON' } }
      ]
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_2_x' },
        { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'r1' }] },
        { type: 'tool_result', tool_use_id: 'c3', content: [{ type: 'text', text: 'r3' }] },
        { type: 'text', text: 'And?' }
      ]
    },
    { role: 'assistant', content: [{ type: 'text', text: 'So' }] }
  ])
  t.match([tools, choice], [[{ name: 'f', input_schema: { type: 'object' } }], { type: 'none' }], 'tools of the past')
})

t.test('empty texts are dropped, and a conversation without any other is refused', async t => {
  const { messages } = bodyOf({ messages: [{ role: 'user', content: ' ' }, { role: 'assistant', content: '' }, user] })
  t.equal(messages.length, 1)
  t.match(refused({ messages: [{ role: 'user', content: '' }] }), { kind: 'bad_request', sent: 'no', details: { param: 'messages' } })
})

t.test('images and files', async t => {
  const part = (type: string, value: object) => ({ messages: [{ role: 'user', content: [{ type, [type]: value }] }] }) as Fields
  const sent = (type: string, value: object) => bodyOf(part(type, value)).messages[0]?.content[0]
  const url = (url: string, more = {}) => ({ url, ...more })
  t.same(sent('image_url', url('data:image/jpg;base64,AAAA')), {
    type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' }
  })
  t.same(sent('image_url', url('https://a/b.png')), { type: 'image', source: { type: 'url', url: 'https://a/b.png' } })
  t.same(droppedBy(part('image_url', url('https://a/b.png', { detail: 'low' }))), ['image_url.detail'])
  t.same(sent('file', { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0x' }), {
    type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' }, title: 'a.pdf'
  })
  t.match(sent('file', { file_data: 'JVBERi0x' }), { source: { media_type: 'application/pdf' } }, 'known by its first bytes')
  t.same(sent('file', { file_data: 'data:text/csv;charset=utf-8;base64,w7w=' }), {
    type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ü' }
  })
  t.match(sent('file', { file_data: 'https://a/b.pdf' }), { type: 'document', source: { type: 'url' } })
  const bad: [string, object][] = [
    ['image_url', url('data:image/bmp;base64,AAAA')], ['image_url', url('http://a/b.png')], ['image_url', url('b.png')],
    ['file', { file_id: 'file_1' }], ['file', { file_data: 'data:application/zip;base64,AAAA' }], ['file', { file_data: 'AAAA' }],
    ['input_audio', { data: 'AAAA', format: 'wav' }], ['video_url', url('https://a/b.mp4')]
  ]
  for (const [type, value] of bad) {
    t.match(refused(part(type, value)), { kind: 'bad_request', details: { param: /^messages\[0\]\.content\[0\]/ } }, type)
  }
})

const f = {
  type: 'function' as const,
  function: { name: 'f', description: 'F', parameters: { type: 'object', properties: {} } }
}
const g = { type: 'function' as const, function: { name: 'g' } }

t.test('tools and tool choice', async t => {
  t.same(bodyOf({ tools: [f, g] }).tools, [
    { name: 'f', description: 'F', input_schema: { type: 'object', properties: {} } },
    { name: 'g', input_schema: { type: 'object', properties: {} } }
  ])
  const choice = (fields: Fields) => bodyOf({ tools: [f, g], ...fields }).tool_choice
  t.equal(choice({}), undefined)
  t.same(choice({ tool_choice: 'none' }), { type: 'none' })
  t.same(choice({ tool_choice: 'required', parallel_tool_calls: false }), { type: 'any', disable_parallel_tool_use: true })
  t.same(choice({ tool_choice: { type: 'function', function: { name: 'g' } } }), { type: 'tool', name: 'g' })
  t.same(choice({ parallel_tool_calls: false }), { type: 'auto', disable_parallel_tool_use: true })
  const some = bodyOf({
    tools: [f, g], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] } }
  })
  t.match([some.tools?.map(({ name }) => name), some.tool_choice], [['g'], { type: 'any' }])
  t.match(refused({ tools: [f], tool_choice: 'required' }, 'claude-opus-5-5'), { details: { param: 'tool_choice' } })
  t.match(refused({ tools: [{ type: 'custom', custom: { name: 'c' } }] }), { details: { param: 'tools[0]' } })
  t.match(refused({ functions: [{ name: 'f' }] }), { details: { param: 'functions' } })
  const strict = { type: 'function' as const, function: { ...f.function, strict: true } }
  const [tool] = bodyOf({ tools: [strict] }).tools ?? []
  t.match(tool, { strict: true, input_schema: { additionalProperties: false } })
  t.same(droppedBy({ tools: [strict] }, 'claude-sonnet-4-20250514'), ['tools[].function.strict'])
})

t.test('a response format is enforced where possible, else requested by an instruction', async t => {
  const wanted = (schema: Json) => {
    return { response_format: { type: 'json_schema' as const, json_schema: { name: 'x', schema } } }
  }
  const person = {
    type: 'object',
    properties: {
      age: { type: 'integer', minimum: 0, description: 'In years' },
      kind: { oneOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
      home: { $ref: '#/$defs/home' }
    },
    required: ['age'],
    $defs: { home: { type: 'object', properties: { zip: { type: 'string', pattern: '^\\d+$' } } } }
  }
  t.same(bodyOf(wanted(person)).output_config?.format?.schema, {
    type: 'object',
    properties: {
      age: { type: 'integer', description: 'In years\n\n{minimum: 0}' },
      kind: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
      home: { $ref: '#/$defs/home' }
    },
    required: ['age'],
    $defs: {
      home: { type: 'object', properties: { zip: { type: 'string', description: '{pattern: "^\\\\d+$"}' } }, additionalProperties: false }
    },
    additionalProperties: false
  })
  const inWords: [Fields, string?][] = [
    [wanted({ type: 'object' })], [wanted({ type: 'object', additionalProperties: { type: 'string' } })],
    [wanted({ type: 'object', properties: { next: { $ref: '#' } } })], [wanted({ $ref: 'https://else.where/schema' })],
    [wanted({ type: 'object', properties: Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`p${at}`, {}])) })],
    [wanted(person), 'claude-sonnet-4-20250514'], [{ response_format: { type: 'json_object' } }]
  ]
  for (const [fields, model] of inWords) {
    const { body, dropped } = accepted(fields, model)
    t.equal(body.output_config, undefined)
    t.match(body.system?.at(-1)?.text, /JSON object/)
    t.same(dropped, ['response_format'])
  }
  t.same(bodyOf({ response_format: { type: 'text' } }), bodyOf({}))
})

t.test('reasoning effort maps to what the model supports', async t => {
  const asked = (effort: ChatCompletionRequest['reasoning_effort'], model?: string, fields: Fields = {}) => {
    const { body, dropped } = accepted({ reasoning_effort: effort, ...fields }, model)
    const { thinking, output_config: config } = body
    return { thinking, effort: config?.effort, dropped }
  }
  const adaptive = { type: 'adaptive', display: 'summarized' }
  t.same(asked('medium'), { thinking: adaptive, effort: 'medium', dropped: [] })
  t.match([asked('minimal').effort, asked('xhigh').effort, asked('max').effort], ['low', 'high', 'max'])
  t.equal(asked('xhigh', 'claude-opus-5').effort, 'xhigh')
  t.same(asked('none'), { thinking: { type: 'disabled' }, effort: undefined, dropped: [] })
  t.same(asked('none', 'claude-sonnet-5-5').thinking, { type: 'between_tools' })
  t.same(asked('none', 'claude-opus-5-5'), { thinking: undefined, effort: undefined, dropped: ['reasoning_effort'] })
  const old = 'claude-sonnet-4-5-20250929'
  t.same(asked('low', old, { max_tokens: 10_000 }).thinking, { type: 'enabled', budget_tokens: 2000 })
  t.same(asked('low', old, { max_tokens: 1500 }).thinking, { type: 'enabled', budget_tokens: 1024 })
  t.same(asked('none', old), { thinking: undefined, effort: undefined, dropped: [] })
  const lost = ['reasoning_effort']
  t.same(asked('high', old, { max_tokens: 1000 }).dropped, lost, 'too short')
  t.same(asked('high', old, { tools: [f], tool_choice: 'required' }).dropped, lost, 'a forced tool')
  for (const model of ['claude-sonnet-4-6', 'claude-opus-4-7', 'claude-sonnet-5', 'claude-fable-5']) {
    t.match(asked('high', model, { tools: [f], tool_choice: 'required' }), { thinking: adaptive, dropped: [] })
  }
  t.same(asked('high', 'claude-3-haiku-20240307').dropped, lost, 'it never thinks')
  t.same(bodyOf({ thinking: { type: 'enabled', budget_tokens: 2048 } }, old).thinking, { type: 'enabled', budget_tokens: 2048 })
  t.same(asked(null), { thinking: undefined, effort: undefined, dropped: [] })
})

t.test('sampling parameters are sent if the model accepts them', async t => {
  const sampled = (fields: Fields, model?: string) => {
    const { body: { temperature, top_p: topP, top_k: topK }, dropped } = accepted(fields, model)
    return { temperature, topP, topK, dropped }
  }
  const none = { temperature: undefined, topP: undefined, topK: undefined }
  t.same(sampled({ temperature: 0, top_p: null }), { ...none, temperature: 0, dropped: [] })
  t.same(sampled({ temperature: 1.5 }), { ...none, temperature: 1, dropped: ['temperature'] })
  t.same(sampled({ temperature: 0.5, top_p: 0.5 }), { ...none, temperature: 0.5, dropped: ['top_p'] })
  t.same(sampled({ temperature: 0.5, top_p: 1 }), { ...none, temperature: 0.5, dropped: [] })
  t.same(sampled({ top_k: 5 }), { ...none, topK: 5, dropped: [] })
  t.same(sampled({ temperature: 0.5, top_p: 0.5, top_k: 5 }, 'claude-opus-4-8'), { ...none, dropped: ['temperature', 'top_p', 'top_k'] })
  t.same(sampled({ temperature: 1 }, 'claude-opus-4-8'), { ...none, dropped: [] }, 'the default needs no word')
  t.same(sampled({ temperature: 0.5, reasoning_effort: 'low' }), { ...none, dropped: ['temperature'] })
})

t.test('stop sequences, user, service tier and dropped fields', async t => {
  t.same(bodyOf({ stop: ['END', ''] }).stop_sequences, ['END'])
  t.match(refused({ stop: '\n' }), { details: { param: 'stop', code: 'invalid_value' } })
  t.same(bodyOf({ user: 'u1' }).metadata, { user_id: 'u1' })
  t.same(bodyOf({ user: 'u1', safety_identifier: 's1' }).metadata, { user_id: 's1' })
  t.equal(bodyOf({ service_tier: 'default' }).service_tier, 'standard_only')
  t.same(droppedBy({
    ...{ seed: 1, frequency_penalty: 0.5, presence_penalty: 0, logit_bias: { 1: 1 }, store: false },
    ...{ verbosity: 'low', prompt_cache_key: 'k', service_tier: 'flex', prediction: null, modalities: ['text'] },
    ...{ metadata: {}, n: 1, logprobs: false, 'x\r\ny': 1 }
  }), ['seed', 'frequency_penalty', 'logit_bias', 'verbosity', 'prompt_cache_key', 'service_tier', 'x__y'])
  for (const [param, fields] of Object.entries({
    n: { n: 2 }, logprobs: { logprobs: true }, modalities: { modalities: ['audio'] }
  })) t.match(refused(fields as Fields), { kind: 'bad_request', sent: 'no', details: { param, code: 'unsupported_parameter' } })
})

t.test('cache breakpoints pass unchanged, wherever they stand', async t => {
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const short = { cache_control: { type: 'ephemeral', ttl: '5m' } }
  const call = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
  const { body, dropped } = accepted({
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'S', ...mark }, { type: 'text', text: 'T' }] },
      { role: 'user', content: [{ type: 'text', text: 'A', prompt_cache_breakpoint: { mode: 'explicit' } }, { type: 'text', text: 'B' }] },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'R', ...short },
      { role: 'user', content: 'C', ...mark }
    ]
  })
  t.strictSame(body.system, [{ type: 'text', text: 'S', ...mark }, { type: 'text', text: 'T' }])
  t.match(body.messages, [
    { content: [{ text: 'A', cache_control: { type: 'ephemeral' } }, { text: 'B' }] },
    { content: [{ type: 'tool_use' }] },
    { content: [{ type: 'tool_result', ...short }, { type: 'text', text: 'C', ...mark }] }
  ])
  t.notOk('ttl' in (body.messages[0]?.content[0]?.['cache_control' as never] ?? {}))
  t.notOk('cache_control' in (body.messages[0]?.content[1] ?? {}))
  t.same(dropped, [])
  const g = { ...f, function: { ...f.function, name: 'g', ...mark } }
  t.match(bodyOf({ messages: [{ role: 'user', content: 'A' }], tools: [{ ...f, ...mark }, g], ...mark }),
    { ...mark, tools: [mark, mark] })
  const odd = accepted({ messages: [{ role: 'user', content: 'A', ...{ cache_control: { type: 'ephemeral', ttl: '24h' } } }] })
  t.match(odd, { body: { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] }, dropped: ['cache_control.ttl'] })
})

t.test('a budget of thoughts stays below a limit that the gateway sets, and is left out of a short one', async t => {
  const thinking = { type: 'enabled', budget_tokens: 100_000 }
  const thinkingWithin = (outputLimit: number) => bodyOf({ thinking }, 'claude-sonnet-4-5', { outputLimit }).thinking
  t.same(thinkingWithin(5000), { type: 'enabled', budget_tokens: 4999 })
  t.equal(thinkingWithin(1000), undefined)
})

t.test('the result of a call that no earlier message has is refused by name', async t => {
  const call = { id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
  const said = { role: 'assistant' as const, content: null, tool_calls: [call] }
  const result = { role: 'tool' as const, tool_call_id: 'a', content: '1' }
  for (const messages of [[result, user], [user, result], [user, said, { ...result, tool_call_id: 'b' }], [user, result, said]]) {
    t.match(refused({ messages }), {
      kind: 'bad_request', message: /^No tool call of an earlier message has the id/, details: { param: /\.tool_call_id$/ }
    })
  }
  accepted({ messages: [user, said, result] })
})
