import t from 'tap'
import type { FunctionTool } from '../../../../schemas/openai/chat-tools.ts'
import { countSandboxTokens } from '../../../../services/providers/sandbox/tokens.ts'
import { ajv, complete, reply } from './helper.ts'
import type { Fields } from './helper.ts'

const weather: FunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Get the current weather for a place',
    parameters: {
      type: 'object',
      properties: { location: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
      required: ['location', 'unit'],
      additionalProperties: false
    }
  }
}
const time: FunctionTool = { type: 'function', function: { name: 'getLocalTime', description: 'Tells what time it is' } }
const tools = [weather, time]

interface Call { name: string, input: string, type: string }

async function calls (text: string, fields: Fields): Promise<Call[]> {
  const { choices } = await complete(text, fields)
  return (choices[0]?.message.tool_calls ?? []).map(call => call.type === 'function'
    ? { name: call.function.name, input: call.function.arguments, type: call.type }
    : { name: call.custom.name, input: call.custom.input, type: call.type })
}

const namesOf = async (text: string, fields: Fields): Promise<string[]> =>
  (await calls(text, fields)).map(({ name }) => name)

t.test('calls a tool the prompt asks for, with arguments from the prompt', async t => {
  const { choices } = await complete('What is the weather in Paris in fahrenheit?', { tools })
  t.match(choices, [{
    finish_reason: 'tool_calls',
    message: {
      content: null,
      tool_calls: [{
        id: /^call_\w{24}$/,
        type: 'function',
        function: { name: 'get_weather', arguments: '{"location":"Paris","unit":"fahrenheit"}' }
      }]
    }
  }])
  t.equal(choices[0]?.message.tool_calls?.length, 1)
})

t.test('calls no tool if the prompt asks for none', async t => {
  for (const text of ['Hello', 'Tell me a joke', 'Set the table', '', 'Get me a current list of users', 'A nice place']) {
    t.same(await namesOf(text, { tools }), [], text)
  }
})

t.test('calls two tools in parallel, unless that is disabled', async t => {
  const text = 'What are the weather and the local time in Rome?'
  t.same((await namesOf(text, { tools })).sort(), ['getLocalTime', 'get_weather'])
  t.equal((await namesOf(text, { tools, parallel_tool_calls: false })).length, 1)
  const rivals = [weather, { ...weather, function: { ...weather.function, name: 'get_weather_forecast' } }]
  t.same(await namesOf('The weather in Rome', { tools: rivals }), ['get_weather'])
})

t.test('obeys tool_choice', async t => {
  t.same(await namesOf('The weather in Rome', { tools, tool_choice: 'none' }), [])
  t.same(await namesOf('Hello', { tools, tool_choice: 'required' }), ['get_weather'])
  t.same(await namesOf('What time is it?', { tools, tool_choice: 'required' }), ['getLocalTime'])
  const named = { type: 'function', function: { name: 'getLocalTime' } } as const
  t.same(await namesOf('The weather in Rome', { tools, tool_choice: named }), ['getLocalTime'])
  const allowed = (mode: 'auto' | 'required'): Fields['tool_choice'] =>
    ({ type: 'allowed_tools', allowed_tools: { mode, tools: [named] } })
  t.same(await namesOf('The weather in Rome', { tools, tool_choice: allowed('auto') }), [])
  t.same(await namesOf('The weather in Rome', { tools, tool_choice: allowed('required') }), ['getLocalTime'])
  t.same(await namesOf('Say: "hi"', { tools, tool_choice: 'required' }), ['get_weather'])
})

t.test('rejects the choice of an undeclared tool', async t => {
  const choices: Fields[] = [
    { tools, tool_choice: { type: 'function', function: { name: 'nothing' } } },
    { tool_choice: 'required' },
    { tools, tool_choice: { type: 'custom', custom: { name: 'nothing' } } }
  ]
  for (const fields of choices) {
    await t.rejects(complete('Hello', fields), {
      name: 'UpstreamError', kind: 'bad_request', details: { param: 'tool_choice', status: 400 }
    })
  }
  await t.rejects(complete('Hello', { function_call: { name: 'nothing' } }), {
    name: 'UpstreamError', details: { param: 'function_call' }
  })
})

t.test('generates valid arguments, which vary among choices', async t => {
  const validate = ajv.compile(weather.function.parameters ?? {})
  const { choices } = await complete('Hello', { tools, tool_choice: 'required', n: 2 })
  const inputs = choices.map(({ message }) => {
    const [call] = message.tool_calls ?? []
    return call?.type === 'function' ? call.function.arguments : ''
  })
  for (const input of inputs) t.ok(validate(JSON.parse(input)))
  t.not(inputs[0], inputs[1])
  t.same(await calls('What time is it?', { tools }), [{ name: 'getLocalTime', input: '{}', type: 'function' }])
})

t.test('replies with the result of a tool instead of calling it again', async t => {
  const messages: Fields['messages'] = [
    { role: 'user', content: 'What is the weather in Paris?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }]
    },
    { role: 'tool', tool_call_id: 'call_1', content: '{"temperature":21,"sky":"clear"}' }
  ]
  t.match(await reply('', { tools, messages }), /get_weather answered with temperature 21 and sky clear/)
  const plain = [...messages.slice(0, 2), { role: 'tool' as const, tool_call_id: 'call_2', content: 'It {rains' }]
  t.match(await reply('', { tools, messages: plain }), /“It \{rains”/)
  const old = [...messages.slice(0, 1), { role: 'function' as const, name: 'get_weather', content: '{broken' }]
  t.match(await reply('', { tools, messages: old }), /get_weather answered “\{broken”/)
  const again = [...messages, { role: 'user' as const, content: 'And the weather in Rome?' }]
  t.same(await namesOf('', { tools, messages: again }), ['get_weather'])
})

t.test('calls a deprecated function', async t => {
  const functions = [weather.function]
  const { choices } = await complete('The weather in Oslo', { functions })
  t.match(choices[0], {
    finish_reason: 'function_call',
    message: { content: null, function_call: { name: 'get_weather', arguments: /"location":"Oslo"/ } }
  })
  t.equal(choices[0]?.message.tool_calls, undefined)
  const forced = await complete('Hello', { functions, function_call: { name: 'get_weather' } })
  t.equal(forced.choices[0]?.finish_reason, 'function_call')
  const none = await complete('The weather in Oslo', { functions, function_call: 'none' })
  t.equal(none.choices[0]?.finish_reason, 'stop')
})

t.test('calls a custom tool with a text', async t => {
  const note = { type: 'custom', custom: { name: 'note', description: 'Takes a note' } } as const
  t.same(await calls('Take a note: `buy milk`', { tools: [note] }), [{ name: 'note', input: 'buy milk', type: 'custom' }])
  const grammar = { type: 'grammar', grammar: { syntax: 'regex', definition: '^[0-9]{3}$' } } as const
  const dial = { type: 'custom', custom: { name: 'dial', format: grammar } } as const
  t.match((await calls('Hello', { tools: [dial], tool_choice: 'required' }))[0]?.input, /^[0-9]{3}$/)
})

t.test('counts the tokens of a call and truncates its arguments at the limit', async t => {
  const fields = { tools, tool_choice: 'required' } as const
  const whole = await complete('Hello', fields)
  const [call] = await calls('Hello', fields)
  const nameTokens = countSandboxTokens('get_weather')
  t.equal(whole.usage?.completion_tokens, nameTokens + countSandboxTokens(call?.input ?? ''))
  const cut = await complete('Hello', { ...fields, max_tokens: nameTokens + 2 })
  t.equal(cut.choices[0]?.finish_reason, 'length')
  t.equal(cut.usage?.completion_tokens, nameTokens + 2)
  t.same((await calls('Hello', { ...fields, max_tokens: nameTokens + 2 }))[0]?.input, '{"location')
  const none = await complete('Hello', { ...fields, max_tokens: 1 })
  t.match(none.choices[0], { finish_reason: 'length', message: { content: null } })
  t.equal(none.choices[0]?.message.tool_calls, undefined)
})

t.test('replies in JSON if requested', async t => {
  t.match(JSON.parse(await reply('List two rivers as JSON', { response_format: { type: 'json_object' } })), {
    answer: /sandbox/, topics: ['rivers', 'json'], sandbox: true
  })
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, guests: { type: 'integer' }, steps: { type: 'array', items: { type: 'string' } } },
    required: ['name', 'guests', 'steps'],
    additionalProperties: false
  }
  const format = { type: 'json_schema', json_schema: { name: 'party', schema, strict: true } } as const
  const party = JSON.parse(await reply('A party for 12 guests', { response_format: format }))
  t.ok(ajv.validate(schema, party))
  t.equal(party.guests, 12)
  const cut = await complete('A party', { response_format: format, max_tokens: 4 })
  t.equal(cut.choices[0]?.finish_reason, 'length')
  t.equal(await reply('A party', { response_format: { type: 'json_schema', json_schema: { name: 'any' } } }), '{}')
})
