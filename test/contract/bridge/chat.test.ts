import t from 'tap'
import type OpenAI from 'openai'
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction'
import { request } from 'undici'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { rejection } from '../../helpers/thrown.ts'
import type { Rule } from '../../servers/openai-rules.ts'
import { answer, message, reasoning, refusal } from '../../servers/responses.ts'
import {
  bodiesOf, bookedBy, call, complete, lastBody, messages, openBridge, pathsOf, usualNano, weatherTool
} from './bridge-shop.ts'

// A chat with tools reaches models that take tools at their Responses API alone.

const tools = [weatherTool]

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming

/** OpenAI has no member for it, and its helper for streams does not put the pieces together. */
async function reasoningOf (client: OpenAI, body: Body, isStream: boolean): Promise<string> {
  const textIn = (message: object): string => String(Reflect.get(message, 'reasoning_content') ?? '')
  if (!isStream) return textIn((await client.chat.completions.create(body)).choices[0]!.message)
  let text = ''
  for await (const { choices: [choice] } of await client.chat.completions.create({ ...body, stream: true })) {
    text += textIn(choice?.delta ?? {})
  }
  return text
}

for (const isStream of [false, true]) {
  const how = isStream ? 'streamed' : 'whole'

  t.test(`every model takes functions with every effort, ${how}`, async t => {
    const cases = [
      ['gpt-5.4', undefined, 'chat/completions'],
      ['gpt-5.4', 'none', 'chat/completions'],
      ['gpt-5.4-mini', 'low', 'responses'],
      ['gpt-5.5', 'high', 'responses'],
      ['gpt-5.6-luna', undefined, 'responses'],
      ['gpt-5.6-luna', 'none', 'chat/completions'],
      ['gpt-6-astra', 'medium', 'responses'],
      ['gpt-5.2', 'high', 'chat/completions'],
      ['gpt-5-pro', undefined, 'responses'],
      ['gpt-5.1-codex-max', 'low', 'responses'],
      ['codex-mini-latest', undefined, 'responses']
    ] as const
    for (const [model, effort, path] of cases) {
      const shop = await openBridge(t, { model })
      const body = { model, messages, tools, reasoning_effort: effort }
      const completion = await complete(shop.client, body, isStream)
      t.ok(completion.choices[0]?.message.content, `${model} ${effort}`)
      t.same(pathsOf(shop), [`/v1/${path}`], `${model} ${effort}`)
      await shop.gateway.app.close()
    }
  })

  t.test(`text, reasoning, parallel calls, usage and its charge, ${how}`, async t => {
    const shop = await openBridge(t)
    const { client, upstream } = shop
    const said = [reasoning('gAAAA'), { ...message('Let me look.'), phase: 'commentary' }, call('Rome'), call('Oslo')]
    upstream.script(answer({ output: said }))
    const completion = await complete(client, {
      model: 'gpt-5.6-luna', messages, tools, reasoning_effort: 'low', max_completion_tokens: 500
    }, isStream)
    t.match(completion, {
      id: /^chatcmpl-/,
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'gpt-5.6-luna-2026-08-07',
      service_tier: 'default',
      choices: [{
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Let me look.',
          refusal: null,
          tool_calls: [
            { id: 'call_Rome', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
            { id: 'call_Oslo', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
          ]
        }
      }],
      usage: {
        prompt_tokens: 1000,
        completion_tokens: 100,
        total_tokens: 1100,
        prompt_tokens_details: { cached_tokens: 200 },
        completion_tokens_details: { reasoning_tokens: 40 },
        cost: usualNano / 1e9
      }
    })
    const counts = { prompt: 1000, completion: 100, cachedRead: 200, reasoning: 40 }
    t.match(await bookedBy(shop), [{ amount: usualNano, estimated: 0, usage: counts }])
    t.equal((await bookedBy(shop)).length, 1)
    t.match(lastBody(shop), {
      model: 'gpt-5.6-luna',
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 500,
      tools: [{ type: 'function', name: 'get_weather', strict: false, description: 'The weather.' }],
      input: [{ role: 'user' }]
    })
  })

  t.test(`a conversation goes on with the reasoning behind its calls, ${how}`, async t => {
    const shop = await openBridge(t)
    const { client, upstream } = shop
    upstream.script(answer({ output: [reasoning('gAAAA'), call('Rome'), reasoning('gBBBB', 'rs_2'), call('Oslo')] }), answer())
    const body = { model: 'gpt-5.6-luna', messages, tools }
    const first = (await complete(client, body, isStream)).choices[0]!.message
    const results = first.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '20 degrees' }))
    const last = await complete(client, { ...body, messages: [...messages, first, ...results] }, isStream)
    t.equal(last.choices[0]?.message.content, 'Good day.')
    const items = [
      { role: 'user' },
      { type: 'reasoning', id: 'rs_up1', encrypted_content: 'gAAAA', summary: [] },
      { type: 'function_call', call_id: 'call_Rome', name: 'get_weather', arguments: '{"city":"Rome"}' },
      { type: 'reasoning', id: 'rs_2', encrypted_content: 'gBBBB' },
      { type: 'function_call', call_id: 'call_Oslo' },
      { type: 'function_call_output', call_id: 'call_Rome', output: '20 degrees' },
      { type: 'function_call_output', call_id: 'call_Oslo' }
    ]
    t.match(lastBody(shop).input, items)
    t.equal((lastBody(shop).input as unknown[]).length, items.length)
    // A client that rebuilds messages keeps what the calls carry, another one what the message does.
    const { tool_calls: carried } = first
    const rebuilt = { role: 'assistant' as const, content: null, tool_calls: carried }
    await complete(client, { ...body, messages: [...messages, rebuilt, ...results] }, isStream)
    t.match(lastBody(shop).input, items)
    // The SDK's helper for streams keeps the last of several details.
    const details = isStream ? ['reasoning'] : ['reasoning', 'reasoning']
    const bare = carried!.map(one => ({ ...one, extra_content: undefined }))
    const turns = [...messages, { ...first, tool_calls: bare }, ...results]
    await complete(client, { ...body, messages: turns }, isStream)
    t.match((lastBody(shop).input as { type?: string }[]).map(({ type }) => type),
      [undefined, ...details, 'function_call', 'function_call', 'function_call_output', 'function_call_output'])
    // Without functions it goes on in chat, which takes none of that.
    await complete(client, { model: 'gpt-5.6-luna', messages: [...messages, first, ...results] }, isStream)
    t.equal(pathsOf(shop).at(-1), '/v1/chat/completions')
  })

  t.test(`reasoning of another organization is left out, ${how}`, async t => {
    const shop = await openBridge(t)
    const { client, upstream } = shop
    upstream.script(answer({ output: [reasoning('foreign'), call('Rome')] }), answer())
    const body = { model: 'gpt-5.6-luna', messages, tools }
    const first = (await complete(client, body, isStream)).choices[0]!.message
    const result = { role: 'tool' as const, tool_call_id: 'call_Rome', content: '20' }
    const last = await complete(client, { ...body, messages: [...messages, first, result] }, isStream)
    t.equal(last.choices[0]?.message.content, 'Good day.')
    t.match((lastBody(shop).input as object[])[1], { type: 'function_call' })
    t.equal(upstream.requests.length, 3)
  })

  t.test(`endings have chat's words, ${how}`, async t => {
    const shop = await openBridge(t)
    const { client, upstream } = shop
    const body = { model: 'gpt-5.6-luna', messages, tools }
    const endings = [
      [{ status: 'incomplete' as const }, 'length'],
      [{ status: 'incomplete' as const, more: { incomplete_details: { reason: 'content_filter' } } }, 'content_filter'],
      [{ status: 'incomplete' as const, output: [call('Rome')] }, 'length'],
      [{}, 'stop']
    ] as const
    for (const [said, reason] of endings) {
      upstream.script(answer(said as Parameters<typeof answer>[0]))
      const raw = await request(`${shop.gateway.url}/chat/completions`, {
        method: 'POST', headers: shop.gateway.headers, body: JSON.stringify({ ...body, stream: isStream })
      })
      t.match(await raw.body.text(), new RegExp(`"finish_reason":"${reason}"`))
    }
    upstream.script(answer({ output: [message('One.'), message('Two.', 'msg_2')] }))
    t.equal((await complete(client, body, isStream)).choices[0]?.message.content, 'One.\n\nTwo.')
    const refused = [{ ...message(''), content: [{ type: 'refusal', refusal: 'I cannot help.' }] }]
    upstream.script(answer({ output: refused }))
    const { choices: [choice] } = await complete(client, body, isStream)
    t.match(choice, { finish_reason: 'stop', message: { refusal: 'I cannot help.' } })
  })

  t.test(`reasoning is summarized with an effort, if the organization may, ${how}`, async t => {
    const unverified: Rule = body => Object(body.reasoning).summary === undefined
      ? null
      : {
          message: 'Your organization must be verified to generate reasoning summaries.',
          param: 'reasoning.summary',
          code: 'unsupported_value'
        }
    const [shop, other] = [await openBridge(t), await openBridge(t, { rules: { responses: [unverified] } })]
    const body = { model: 'gpt-5.6-luna', messages, tools, reasoning_effort: 'high' as const }
    const summary = [{ type: 'summary_text', text: 'First.' }, { type: 'summary_text', text: 'Then.' }]
    shop.upstream.script(answer({ output: [{ ...reasoning(null), summary }, reasoning(null, 'rs_2', 'Last.'), message('Hi')] }))
    t.equal(await reasoningOf(shop.client, body, isStream), 'First.\n\nThen.\n\nLast.')
    for (const calls of [2, 3]) {
      await complete(other.client, body, isStream)
      t.equal(other.upstream.requests.length, calls, 'the refusal is remembered')
    }
    t.same(lastBody(other).reasoning, { effort: 'high' })
  })
}

t.test('every field has its place, and what has none is dropped and named', async t => {
  const shop = await openBridge(t)
  const custom = { type: 'custom' as const, custom: { name: 'sql', format: { type: 'grammar' as const, grammar: { syntax: 'lark' as const, definition: 'start: "a"' } } } }
  const { data, response } = await shop.client.chat.completions.create({
    model: 'gpt-5.6-luna',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', prompt_cache_breakpoint: { mode: 'explicit' } }] },
      {
        role: 'user',
        name: 'ann',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }
        ]
      },
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'sql', input: 'a' } }] },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: '7' }] },
      { role: 'assistant', content: 'Seven.' },
      { role: 'user', content: 'Sure?' }
    ],
    tools: [weatherTool, custom],
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'get_weather' } }] } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: { type: 'object' } } },
    verbosity: 'low',
    temperature: 0.5,
    seed: 7,
    stop: ['x'],
    store: true,
    logit_bias: { 5: 1 },
    metadata: { ticket: '7' },
    safety_identifier: 'u1',
    prompt_cache_key: 'k',
    prompt_cache_options: { mode: 'explicit' },
    service_tier: 'auto'
  }).withResponse()
  t.equal(data.choices[0]?.message.content, 'Good day.')
  const dropped = response.headers.get('x-tollgate-dropped-params')?.split(', ').toSorted()
  t.same(dropped, ['logit_bias', 'messages[].name', 'seed', 'stop', 'store', 'temperature'])
  const { input, tools: sent, ...body } = lastBody(shop)
  t.match(body, {
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'get_weather' }] },
    parallel_tool_calls: false,
    text: { format: { type: 'json_schema', name: 'a', strict: true, schema: { type: 'object' } }, verbosity: 'low' },
    metadata: { ticket: '7' },
    safety_identifier: 'u1',
    prompt_cache_key: 'k',
    prompt_cache_options: { mode: 'explicit' },
    service_tier: 'auto',
    store: false
  })
  t.match(sent, [
    { type: 'function', name: 'get_weather' },
    { type: 'custom', name: 'sql', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } }
  ])
  t.match(input, [
    { role: 'system', content: [{ type: 'input_text', text: 'Be brief.', prompt_cache_breakpoint: { mode: 'explicit' } }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' }
      ]
    },
    { role: 'assistant', content: 'I look.', phase: 'commentary' },
    { type: 'custom_tool_call', call_id: 'c1', name: 'sql', input: 'a' },
    { type: 'custom_tool_call_output', call_id: 'c1', output: [{ type: 'input_text', text: '7' }] },
    { role: 'assistant', content: 'Seven.', phase: 'final_answer' },
    { role: 'user', content: 'Sure?' }
  ])
})

t.test('calls of custom tools come back, whole and streamed', async t => {
  const { client, upstream } = await openBridge(t)
  const output = [{ type: 'custom_tool_call', id: 'ctc_1', call_id: 'c1', name: 'sql', input: 'select 1' }]
  upstream.always(answer({ output }))
  for (const isStream of [false, true]) {
    const { choices: [choice] } = await complete(client, { model: 'gpt-5.6-luna', messages, tools: [weatherTool, { type: 'custom', custom: { name: 'sql' } }] }, isStream)
    t.match(choice, { finish_reason: 'tool_calls', message: { tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'sql', input: 'select 1' } }] } })
  }
})

t.test('the forms of tool_choice', async t => {
  const shop = await openBridge(t)
  const choices = [
    ['none', 'none'], ['auto', 'auto'], ['required', 'required'],
    [{ type: 'function', function: { name: 'get_weather' } }, { type: 'function', name: 'get_weather' }]
  ] as const
  for (const [given, sent] of choices) {
    await shop.client.chat.completions.create({ model: 'gpt-5.6-luna', messages, tools, tool_choice: given })
    t.same(lastBody(shop).tool_choice, sent)
  }
})

t.test('what no response can be is refused by name, before anything is sent', async t => {
  const { client, upstream } = await openBridge(t)
  const body = { model: 'gpt-5.6-luna', messages, tools }
  t.match(await rejection(client.chat.completions.create({ ...body, n: 2 })), { status: 400, param: 'n' })
  const audio = { modalities: ['text', 'audio'] as ('text' | 'audio')[], audio: { voice: 'alloy', format: 'wav' as const } }
  t.match(await rejection(client.chat.completions.create({ ...body, ...audio })), { status: 400, param: 'modalities' })
  t.equal(upstream.requests.length, 0)
})

t.test("OpenAI's helper runs tools to the end, whole and streamed", async t => {
  const shop = await openBridge(t)
  const cities: string[] = []
  const body = {
    model: 'gpt-5.6-luna',
    messages,
    tools: [{
      type: 'function' as const,
      function: {
        name: 'get_weather',
        description: 'The weather.',
        parameters: { type: 'object' },
        parse: JSON.parse,
        function ({ city }: { city: string }) {
          cities.push(city)
          return '20 degrees'
        }
      }
    } satisfies RunnableToolFunctionWithParse<{ city: string }>]
  }
  const { completions } = shop.client.chat
  const calls = [reasoning('gAAAA'), call('Rome'), call('Oslo')]
  for (const isStream of [false, true]) {
    shop.upstream.script(answer({ output: calls }), answer({ output: [message('20 and 5.')] }))
    const runner = isStream ? completions.runTools({ ...body, stream: true }) : completions.runTools(body)
    t.equal(await runner.finalContent(), '20 and 5.')
  }
  t.same(cities, ['Rome', 'Oslo', 'Rome', 'Oslo'])
  const [, whole, , streamed] = bodiesOf(shop)
    .map(({ input }) => (input as { type?: string }[]).map(({ type }) => type))
  const rest = ['function_call', 'function_call', 'function_call_output', 'function_call_output']
  // The helper sends back what it knows of a message, without the reasoning.
  t.same([whole, streamed], [[undefined, ...rest], [undefined, ...rest]])
  t.equal((await bookedBy(shop)).length, 4)
})

t.test('long ids of calls are shortened alike', async t => {
  const shop = await openBridge(t)
  const id = 'x'.repeat(100)
  await shop.client.chat.completions.create({
    model: 'gpt-5.6-luna',
    tools,
    messages: [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name: 'get_weather', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: id, content: '1' }
    ]
  })
  const [, called, returned] = lastBody(shop).input as { call_id: string }[]
  t.equal(called?.call_id, returned?.call_id)
  t.ok(Number(called?.call_id.length) <= 64)
})

t.test('a server without the Responses API gets a chat, and is not tried there again at once', async t => {
  const shop = await openBridge(t, { rules: { responses: [() => ({ status: 404, message: 'Invalid URL (POST /v1/responses)' })] }, model: 'gpt-5.6' })
  const body = { model: 'gpt-5.6', messages, tools, reasoning_effort: 'low' as const }
  t.match(await rejection(shop.client.chat.completions.create(body)), { status: 400, message: /use \/v1\/responses/ })
  t.same(pathsOf(shop), ['/v1/responses', '/v1/chat/completions'])
  const plain = await openBridge(t, { model: 'gpt-5.6', provider: { responses: 'off' } })
  t.match(await rejection(plain.client.chat.completions.create(body)), { status: 400, message: /use \/v1\/responses/ })
  t.same(pathsOf(plain), ['/v1/chat/completions'])
})

t.test('a model that the table does not name goes there once its server has said so', async t => {
  const shop = await openBridge(t, {
    model: 'mine',
    provider: { dialect: 'azure' },
    rules: {
      chat: [({ tools }) => tools === undefined
        ? null
        : { message: 'Function tools with reasoning_effort are not supported for mine in /v1/chat/completions. Please use /v1/responses instead.' }]
    }
  })
  const body = { model: 'mine', messages, tools, reasoning_effort: 'high' as const }
  const pathnames = () => pathsOf(shop).map(path => path.replace(/\?.*/, ''))
  for (const calls of [1, 2]) {
    t.ok((await shop.client.chat.completions.create(body)).choices[0]?.message.content)
    t.same(pathnames(), ['/v1/chat/completions', '/v1/responses', '/v1/responses'].slice(0, calls + 1))
  }
  await shop.client.chat.completions.create({ model: 'mine', messages })
  t.equal(pathnames().at(-1), '/v1/chat/completions')
})

t.test('a model that the table does not name, and is served there alone, goes there too', async t => {
  const shop = await openBridge(t, {
    model: 'mine',
    rules: {
      chat: [() => ({ status: 404, message: 'This model is only supported in v1/responses and not in v1/chat/completions.', param: 'model' })]
    }
  })
  for (const calls of [2, 3]) {
    t.ok((await shop.client.chat.completions.create({ model: 'mine', messages })).choices[0]?.message.content)
    t.equal(shop.upstream.requests.length, calls)
  }
})

t.test('a policy chooses such a model for tools, and Azure serves it alike', async t => {
  const shop = await openBridge(t, {
    provider: { dialect: 'azure' },
    config: config => {
      const policy = builtInPolicies().find(({ id }) => id === 'auto:quality')
      if (policy === undefined) throw new Error('no policy')
      return { ...config, policies: [{ ...policy, id: 'auto:agents', models: ['gpt-5.6-luna'] }] }
    }
  })
  const { data, response } = await shop.client.chat.completions.create({ model: 'auto:agents', messages, tools }).withResponse()
  t.equal(data.choices[0]?.message.content, 'Good day.')
  t.match(response.headers.get('x-tollgate-route'), /gpt-5\.6-luna/)
  t.same(pathsOf(shop), ['/v1/responses?api-version=v1'])
})

t.test('a window that a refusal names is remembered', async t => {
  const shop = await openBridge(t)
  const words = 'This model\'s maximum context length is 400 tokens. However, your messages resulted in 6000 tokens.'
  shop.upstream.always(refusal(400, { message: words, code: 'context_length_exceeded', param: 'input' }))
  const long = [{ role: 'user' as const, content: 'word '.repeat(6000) }]
  const ask = () => shop.client.chat.completions.create({ model: 'gpt-5.6-luna', messages: long, tools })
  const refused = { status: 400, code: 'context_length_exceeded', param: 'messages' }
  t.match(await rejection(ask()), refused)
  const { length } = shop.upstream.requests
  t.match(await rejection(ask()), refused)
  t.equal(shop.upstream.requests.length, length, 'the gateway refuses the second one')
})

t.test('the words of a refusal reach the client', async t => {
  const { client, upstream } = await openBridge(t)
  const refusals = [
    ['tools[0].parameters', 'tools[0].function.parameters', 'Invalid schema for function \'get_weather\'.'],
    ['max_output_tokens', 'max_completion_tokens', 'Invalid \'max_output_tokens\': integer below minimum value.'],
    ['input[2].content[0].image_url', 'messages', 'The image data you provided does not represent a valid image.'],
    ['reasoning.effort', 'reasoning_effort', 'Unsupported value: \'minimal\' is not supported with this model.']
  ] as const
  for (const [param, renamed, said] of refusals) {
    upstream.script(refusal(400, { message: said, param, code: 'invalid_value' }))
    t.match(await rejection(client.chat.completions.create({ model: 'gpt-5.6-luna', messages, tools, max_completion_tokens: 10 })),
      { status: 400, message: said.replace(param, renamed), param: renamed, code: 'invalid_value' }, param)
  }
})
