import t, { type Test } from 'tap'
import OpenAI from 'openai'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { refusal, reply, reset, startUpstream, type Edits, type Upstream } from '../../servers/upstream.ts'
import { statusOf } from '../round-trips.ts'
import { orderProblems } from './event-order.ts'
import { gatherResponse } from './responses-client.ts'

async function started (t: Test) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url)) })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  return { upstream, gateway, client }
}

const { upstream, gateway, client } = await started(t)
const model = 'chat'
const lastBody = (of: Upstream = upstream) => of.requests.at(-1)?.body

const post = async (body: object) => await fetch(`${gateway.url}/responses`, {
  method: 'POST', headers: gateway.headers, body: JSON.stringify({ model, input: 'Hi', ...body })
})

/** The events of a stream as they are on the wire, each with its name. */
async function eventsOf (response: Response) {
  const text = await response.text()
  t.notMatch(text, '[DONE]')
  return text.trim().split('\n\n').map(block => {
    const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/.exec(block) ?? []
    const event: OpenAI.Responses.ResponseStreamEvent = JSON.parse(data)
    t.equal(event.type, name, 'the name of the event is its type')
    return event
  })
}

/** An answer whose first message or delta has other members. */
const saying = (message: object, more: object = {}): Edits => ({
  completion: body => ({ ...body, choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: null, ...message }, ...more }] }),
  chunks: list => {
    const [first] = list
    const last = list.find(({ choices }) => choices[0]?.finish_reason)
    return [
      { ...first, choices: [{ index: 0, delta: { role: 'assistant', ...message }, finish_reason: null, ...more }] },
      ...last === undefined ? [] : [last], ...list.filter(({ choices }) => choices.length === 0)
    ]
  }
})

t.test('a whole response has OpenAI\'s members, and repeats what was asked', async t => {
  upstream.script(reply({ text: 'Good day.', usage: { prompt: 12, completion: 9, cached: 4, reasoning: 5 } }))
  const response = await client.responses.create({
    model,
    instructions: 'Be brief.',
    input: 'Hello',
    max_output_tokens: 64,
    temperature: 0.5,
    top_p: 0.9,
    metadata: { ticket: '7' },
    user: 'ada',
    safety_identifier: 'user-1',
    prompt_cache_key: 'thread-1',
    service_tier: 'default',
    text: { verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    truncation: 'disabled',
    store: false
  })
  t.match(response, {
    id: /^resp_[0-9a-f]{48}$/,
    object: 'response',
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: 'Be brief.',
    max_output_tokens: 64,
    metadata: { ticket: '7' },
    model: 'gpt-5-nano-2025-08-07',
    output: [{
      id: /^msg_/,
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Good day.', annotations: [], logprobs: [] }]
    }],
    output_text: 'Good day.',
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: 'low', summary: 'auto' },
    store: false,
    temperature: 0.5,
    text: { format: { type: 'text' }, verbosity: 'low' },
    tool_choice: 'auto',
    tools: [],
    top_p: 0.9,
    truncation: 'disabled',
    usage: {
      input_tokens: 12,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 21
    },
    user: 'ada'
  })
  t.match(lastBody(), {
    model: 'gpt-5-nano',
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hello' }],
    max_completion_tokens: 64,
    temperature: 0.5,
    top_p: 0.9,
    user: 'ada',
    safety_identifier: 'user-1',
    prompt_cache_key: 'thread-1',
    service_tier: 'default',
    verbosity: 'low',
    reasoning_effort: 'low'
  })
  t.notOk('metadata' in (lastBody() ?? {}), 'OpenAI\'s chat refuses metadata without storage')
})

t.test('a stream has every event in order', async t => {
  const thinking: Edits = {
    chunks: list => {
      const [first, ...rest] = list
      const thought = (text: string) => {
        return { ...first, choices: [{ index: 0, delta: { reasoning_content: text }, finish_reason: null }] }
      }
      return [thought('Hm'), thought('m.'), ...rest]
    }
  }
  upstream.script(reply({ text: ['One ', 'two'], tools: [{ name: 'look', arguments: '{"at":"all"}' }], finishReason: 'tool_calls' }, thinking))
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }]
  const events = await eventsOf(await post({ stream: true, tools }))
  t.same(orderProblems(events), [])
  t.same(events.map(({ type }) => type.replace('response.', '')), [
    'created', 'in_progress',
    'output_item.added', 'reasoning_summary_part.added', 'reasoning_summary_text.delta', 'reasoning_summary_text.delta',
    'reasoning_summary_text.done', 'reasoning_summary_part.done', 'output_item.done',
    'output_item.added', 'content_part.added', 'output_text.delta', 'output_text.delta', 'output_text.done',
    'content_part.done', 'output_item.done',
    'output_item.added', 'function_call_arguments.delta', 'function_call_arguments.delta',
    'function_call_arguments.done', 'output_item.done',
    'completed'
  ])
  t.match(events[0], { response: { status: 'in_progress', output: [], usage: null } })
  t.match(events.at(-1), {
    response: {
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hmm.' }] },
        { type: 'message', content: [{ text: 'One two' }] },
        { type: 'function_call', status: 'completed', call_id: /^call_/, name: 'look', arguments: '{"at":"all"}' }
      ],
      usage: { input_tokens: 8, output_tokens: 377, output_tokens_details: { reasoning_tokens: 320 } }
    }
  })
  t.match(lastBody(), { stream: true, stream_options: { include_usage: true } })
})

t.test('items of every kind become messages', async t => {
  await client.responses.create({
    model,
    input: [
      { role: 'developer', content: 'Be brief.' },
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be kind.' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
          { type: 'input_file', file_url: 'https://files.example/b.pdf' }
        ]
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I need both.' }] },
      { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Let me look.', annotations: [] }] },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"a":1}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: '*** Begin' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'seen' }, { type: 'input_image', image_url: 'https://pictures.example/a.png', detail: 'auto' }] },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'applied' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] as never },
      { role: 'user', content: 'Why?' }
    ]
  })
  t.same(lastBody()?.messages, [
    { role: 'system', content: 'Be brief.\n\nBe kind.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
        { type: 'file', file: { file_data: 'https://files.example/b.pdf' } }
      ]
    },
    {
      role: 'assistant',
      content: 'Let me look.',
      reasoning_content: 'I need both.',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
        { id: 'c2', type: 'function', function: { name: 'patch', arguments: '{"input":"*** Begin"}' } }
      ]
    },
    { role: 'tool', tool_call_id: 'c1', content: 'seen\n(1 attached below, with the id c1)' },
    { role: 'tool', tool_call_id: 'c2', content: 'applied' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Output of the tool call c1:' },
        { type: 'image_url', image_url: { url: 'https://pictures.example/a.png', detail: 'auto' } }
      ]
    },
    { role: 'assistant', content: null, refusal: 'No.' },
    { role: 'user', content: 'Why?' }
  ])
})

t.test('custom tools and namespaces come back as they were named', async t => {
  const body = {
    model,
    input: 'Patch it',
    parallel_tool_calls: false,
    tools: [
      { type: 'custom' as const, name: 'patch', description: 'Edits files.', format: { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: "x"' } },
      { type: 'namespace' as const, name: 'agents', description: 'Agents', tools: [{ type: 'function' as const, name: 'close', parameters: { type: 'object' } }] }
    ]
  }
  const calls = [{ name: 'patch', arguments: '{"input":"*** Begin\\nx"}' }, { name: 'agents__close', arguments: '{"id":1}' }]
  for (const stream of [false, true]) {
    upstream.script(reply({ tools: calls }))
    const { output } = stream ? await gatherResponse(client, body) : await client.responses.create(body)
    t.match(output, [
      { type: 'custom_tool_call', name: 'patch', input: '*** Begin\nx', call_id: /^call_/, status: 'completed' },
      { type: 'function_call', name: 'close', namespace: 'agents', arguments: '{"id":1}' }
    ])
    t.match(lastBody(), {
      parallel_tool_calls: false,
      tools: [
        { type: 'function', function: { name: 'patch', description: /^Edits files\.\n\n.*Lark grammar:\nstart: "x"$/s, parameters: { required: ['input'] } } },
        { type: 'function', function: { name: 'agents__close' } }
      ]
    })
  }
  await client.responses.create({ model, input: [{ type: 'function_call', call_id: 'c', namespace: 'agents', name: 'close', arguments: '{}' }, { type: 'function_call_output', call_id: 'c', output: 'ok' }] })
  t.match(lastBody(), { messages: [{ tool_calls: [{ function: { name: 'agents__close' } }] }, {}] })
})

t.test('every form of tool_choice and of text.format', async t => {
  const tools = ['a', 'b'].map(name => ({ type: 'function' as const, name, parameters: { type: 'object' }, strict: true }))
  const ask = async (more: object) => {
    await client.responses.create({ model, input: 'Hi', tools, ...more })
    return lastBody()
  }
  for (const choice of ['none', 'auto', 'required']) t.match(await ask({ tool_choice: choice }), { tool_choice: choice })
  t.match(await ask({ tool_choice: { type: 'function', name: 'b' } }), { tool_choice: { type: 'function', function: { name: 'b' } } })
  const allowed = await ask({ tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] } })
  t.match(allowed, { tool_choice: 'required', tools: [{ function: { name: 'b', strict: true } }] })
  t.equal(Object(allowed).tools.length, 1)
  t.match(await ask({ text: { format: { type: 'json_object' } } }), { response_format: { type: 'json_object' } })
  const schema = { type: 'object', properties: {}, additionalProperties: false }
  t.match(await ask({ text: { format: { type: 'json_schema', name: 'n', schema, strict: true } } }),
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } } })
  t.notOk('response_format' in Object(await ask({ text: { format: { type: 'text' } } })))
})

t.test('refusals, cut answers and filtered ones', async t => {
  const cases = [
    [saying({ refusal: 'I cannot.' }), 'stop', { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: 'I cannot.' }] }] }],
    [{}, 'length', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, completed_at: null, output: [{ status: 'incomplete' }] }],
    [{}, 'content_filter', { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }]
  ] as const
  for (const [edits, finishReason, expected] of cases) {
    for (const stream of [false, true]) {
      upstream.script(reply({ text: 'So', finishReason }, edits))
      const body = { model, input: 'Hi' }
      t.match(stream ? await gatherResponse(client, body) : await client.responses.create(body), expected)
    }
  }
})

t.test('log probabilities, citations and images come along', async t => {
  const logprobs = { content: [{ token: 'So', logprob: -0.1, bytes: [83], top_logprobs: [{ token: 'So', logprob: -0.1, bytes: [83] }] }] }
  const citation = { start_index: 0, end_index: 2, url: 'https://a.example', title: 'A' }
  const message = {
    content: 'So',
    annotations: [{ type: 'url_citation', url_citation: citation }],
    images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }]
  }
  for (const stream of [false, true]) {
    upstream.script(reply({}, saying(message, { logprobs })))
    const body = { model, input: 'Hi', top_logprobs: 1, include: ['message.output_text.logprobs' as const] }
    const { output } = stream ? await gatherResponse(client, body) : await client.responses.create(body)
    t.match(output, [
      { content: [{ text: 'So', logprobs: logprobs.content, annotations: [{ type: 'url_citation', ...citation }] }] },
      { type: 'image_generation_call', status: 'completed', result: 'QUJD' }
    ])
    t.match(lastBody(), { logprobs: true, top_logprobs: 1 })
  }
})

t.test('a stream that breaks ends with response.failed', async t => {
  upstream.script(reply({ text: ['One ', 'two ', 'three'] }, { cut: pieces => pieces.slice(0, 3), end: reset }))
  const events = await eventsOf(await post({ stream: true }))
  t.same(orderProblems(events), [])
  t.match(events.at(-1), {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: /provider/ }, output: [{ status: 'incomplete' }] }
  })
})

t.test('what cannot be honoured is refused by the name of its field', async t => {
  const refused = [
    [{ background: true }, 'background'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ moderation: { model: 'm' } }, 'moderation'],
    [{ context_management: [{ type: 'compaction' }] }, 'context_management'],
    [{ truncation: 'auto' }, 'truncation'],
    [{ seed: 7 }, 'seed'],
    [{ n: 2 }, 'n'],
    [{ reasoning: { mode: 'pro' } }, 'reasoning.mode'],
    [{ tools: [{ type: 'web_search' }], tool_choice: 'required' }, 'tools[0].type'],
    [{ tools: [{ type: 'mcp', server_label: 's' }], tool_choice: 'required' }, 'tools[0].type'],
    [{ input: [{ type: 'computer_call', id: 'c' }] }, 'input[0].type'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] }, 'input[0].content[0].file_id'],
    [{ input: [{ role: 'user', content: [{ type: 'input_what' }] }] }, 'input[0].content[0].type'],
    [{ input: [] }, 'input'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ temperature: 3 }, 'temperature'],
    [{ text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name']
  ] as const
  const before = upstream.requests.length
  for (const [more, param] of refused) {
    const response = await post(more)
    t.equal(response.status, 400, param)
    t.match(await response.json(), { error: { type: 'invalid_request_error', param } })
  }
  t.equal(upstream.requests.length, before, 'nothing was sent')
})

t.test('a null stands for a field that is absent', async t => {
  const names = ['background', 'conversation', 'prompt', 'truncation', 'metadata', 'tools', 'tool_choice']
  t.equal((await post(Object.fromEntries(names.map(name => [name, null])))).status, 200)
})

t.test('errors have OpenAI\'s shape, and name the fields of this API', async t => {
  upstream.script(refusal(400, { message: 'Unsupported value: \'reasoning_effort\'.', param: 'reasoning_effort', code: 'unsupported_value' }))
  await t.rejects(client.responses.create({ model, input: 'Hi', reasoning: { effort: 'high' } }),
    { status: 400, param: 'reasoning.effort', code: 'unsupported_value' })
  upstream.script(refusal(429))
  t.equal(await statusOf(client.responses.create({ model, input: 'Hi', stream: true })), 429)
  await t.rejects(client.responses.create({ model: 'no-such', input: 'Hi' }), { status: 404, code: 'model_not_found' })
  const stranger = new OpenAI({ baseURL: gateway.url, apiKey: 'sk-wrong', maxRetries: 0 })
  t.equal(await statusOf(stranger.responses.create({ model, input: 'Hi' })), 401)
})
