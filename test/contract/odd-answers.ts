// Answers of OpenAI-compatible servers that OpenAI would not send, each as a stream, as a whole, or both.

interface Called { name: string, input: object }

/** What every client has to make of an answer. */
export interface Meaning { text?: string, calls?: Called[], reasoning?: string, finish: string }

export interface OddAnswer {
  /** Where it was seen. */
  seen: string
  dialect?: string
  /** The events of a stream: an object is one event of data, a text is sent as it is. */
  events?: (object | string)[]
  /** A whole answer. */
  whole?: object
  means: Meaning
}

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'some-model' }
const done = 'data: [DONE]\n\n'
const usage = { prompt_tokens: 8, completion_tokens: 5, total_tokens: 13 }
const counted = { ...head, choices: [], usage }
const [paris, utc] = ['{"city":"Paris"}', '{"tz":"UTC"}']

const chunk = (delta: object | null, finish: string | null = null, more: object = {}) =>
  ({ ...head, choices: [{ index: 0, delta, finish_reason: finish }], ...more })
const opening = chunk({ role: 'assistant', content: '' })
const call = (name: string, text: unknown, more: object = {}) =>
  ({ index: 0, id: `call_${name}`, type: 'function', function: { name, arguments: text }, ...more })
const tools = (...calls: object[]) => ({ tool_calls: calls })
const answer = (message: object, finish: string | null = 'stop', more: object = {}) => ({
  ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage, ...more
})

const bothCalls: Called[] = [
  { name: 'get_weather', input: { city: 'Paris' } }, { name: 'get_time', input: { tz: 'UTC' } }
]
const both: Meaning = { calls: bothCalls, finish: 'tool_calls' }
const one: Meaning = { calls: bothCalls.slice(0, 1), finish: 'tool_calls' }
const hi: Meaning = { text: 'Hi there!', finish: 'stop' }
const weather = call('get_weather', paris)
const time = call('get_time', utc)
const { index: _, ...weatherAlone } = weather
const { index: __, ...timeAlone } = time
const ended = [chunk({}, 'tool_calls'), counted, done]
const stopped = [chunk({}, 'stop'), counted, done]

export const oddAnswers: Readonly<Record<string, OddAnswer>> = {
  'two tool calls with index 0': {
    seen: 'Gemini; gcli2api#406',
    dialect: 'gemini',
    events: [opening, chunk(tools(weather)), chunk(tools(time)), ...ended],
    means: both
  },
  'two tool calls with index 0 in one chunk': {
    seen: 'Gemini; omnigent#28', events: [opening, chunk(tools(weather, time)), ...ended], means: both
  },
  'two calls of one tool with index 0, each with arguments in pieces': {
    seen: 'hermes-agent#57939',
    events: [
      opening, chunk(tools(call('get_weather', '{"city":', { id: 'a' }))), chunk(tools({ index: 0, function: { arguments: '"Paris"}' } })),
      chunk(tools(call('get_weather', '{"city":', { id: 'b' }))), chunk(tools({ index: 0, function: { arguments: '"Rome"}' } })),
      ...ended
    ],
    means: {
      calls: [{ name: 'get_weather', input: { city: 'Paris' } }, { name: 'get_weather', input: { city: 'Rome' } }],
      finish: 'tool_calls'
    }
  },
  'two tool calls without ids on one index': {
    seen: 'older Ollama',
    events: [
      opening, chunk(tools({ ...weather, id: undefined })), chunk(tools({ ...time, id: '' })), chunk({}, 'stop'), done
    ],
    whole: answer({ role: 'assistant', content: '', tool_calls: [{ ...weatherAlone, id: '' }, { ...timeAlone, id: undefined }] }),
    means: both
  },
  'tool calls without index': {
    seen: 'ollama#7881, OpenMAIC#1556',
    events: [opening, chunk(tools(weatherAlone)), chunk(tools(timeAlone)), ...ended],
    means: both
  },
  'tool calls without index, in pieces': {
    seen: 'litellm#5231',
    events: [
      opening, chunk(tools({ ...weatherAlone, function: { name: 'get_weather', arguments: '' } })),
      chunk(tools({ function: { arguments: '{"city":' } })), chunk(tools({ function: { arguments: '"Paris"}' } })), ...ended
    ],
    means: one
  },
  'indices of tool calls that begin with 1': {
    seen: 'proxies of Claude', events: [opening, chunk(tools({ ...weather, index: 1 }, { ...time, index: 3 })), ...ended], means: both
  },
  'two tool calls with one id': {
    seen: 'servers that derive ids from names',
    events: [opening, chunk(tools({ ...weather, id: 'x' }, { ...time, id: 'x', index: 1 })), ...ended],
    whole: answer({ role: 'assistant', content: null, tool_calls: [{ ...weatherAlone, id: 'x' }, { ...timeAlone, id: 'x' }] }, 'tool_calls'),
    means: both
  },
  'id, type and name with every piece of a tool call': {
    seen: 'vLLM and LM Studio parsers',
    events: [
      opening, chunk(tools(call('get_weather', ''))), chunk(tools(call('get_weather', '{"city":'))),
      chunk(tools(call('get_weather', '"Paris"}'))), ...ended
    ],
    means: one
  },
  'two calls with one index and one id': {
    seen: 'servers that derive ids from names',
    events: [
      opening, chunk(tools(call('get_weather', paris))), chunk(tools(call('get_weather', '{"city":"Rome"}'))),
      chunk(tools(call('get_weather', '{"city":"Oslo"}'))), ...ended
    ],
    means: {
      calls: ['Paris', 'Rome', 'Oslo'].map(city => ({ name: 'get_weather', input: { city } })), finish: 'tool_calls'
    }
  },
  'a call that comes once more in full': {
    seen: 'servers that end with all their calls',
    events: [
      opening, chunk(tools(call('get_weather', ''))), chunk(tools({ index: 0, function: { arguments: '{"city":' } })),
      chunk(tools({ index: 0, id: 'call_get_weather', function: { arguments: '"Paris"}' } })), chunk(tools(weather)), ...ended
    ],
    means: one
  },
  'an empty piece of arguments before the others': {
    seen: 'proxies of Claude',
    events: [
      opening, chunk(tools(call('get_weather', ''))), chunk(tools({ index: 0, function: { arguments: '' } })),
      chunk(tools({ index: 0, function: { arguments: '{"city":' } })), chunk(tools({ index: 0, function: { arguments: '"Paris"}' } })),
      ...ended
    ],
    means: one
  },
  'an empty object before the arguments': {
    seen: 'litellm#4537, envoyproxy/ai-gateway#1465',
    events: [
      opening, chunk(tools(call('get_weather', '{}'))), chunk(tools({ index: 0, function: { arguments: '' } })),
      chunk(tools({ index: 0, function: { arguments: '{"city":' } })), chunk(tools({ index: 0, function: { arguments: '"Paris"}' } })),
      ...ended
    ],
    means: one
  },
  'calls in any order': {
    seen: 'servers that run parsers in parallel',
    events: [
      opening, chunk(tools(call('get_weather', '{"city":', { index: 1 }))), chunk(tools({ index: 1, function: { arguments: '"Paris"}' } })),
      chunk(tools(call('get_time', '{"tz":'))), chunk(tools({ index: 0, function: { arguments: '"UTC"}' } })), ...ended
    ],
    means: both
  },
  'a new id with every piece of a tool call': {
    seen: 'vLLM, whose pieces had random ids by default',
    events: [
      opening, chunk(tools(call('get_weather', '', { id: 'a' }))),
      chunk(tools({ index: 0, id: 'b', type: 'function', function: { name: '', arguments: '{"city":' } })),
      chunk(tools({ index: 0, id: 'c', type: 'function', function: { arguments: '"Paris"}' } })), ...ended
    ],
    means: one
  },
  'nulls in later pieces of a tool call': {
    seen: 'SGLang',
    events: [
      opening, chunk(tools(call('get_weather', null))),
      chunk(tools({ index: 0, id: null, type: null, function: { name: null, arguments: paris } })), ...ended
    ],
    means: one
  },
  'the name of a tool after its id': {
    seen: 'llama.cpp',
    events: [
      opening, chunk(tools({ index: 0, id: 'a', type: 'function', function: { arguments: '' } })),
      chunk(tools({ index: 0, function: { name: 'get_weather', arguments: '{"city":' } })),
      chunk(tools({ index: 0, function: { arguments: '"Paris"}' } })), ...ended
    ],
    means: one
  },
  'arguments that are an object': {
    seen: 'llama.cpp#20198, Ollama',
    events: [opening, chunk(tools(call('get_weather', { city: 'Paris' }))), ...ended],
    whole: answer({ role: 'assistant', content: '', tool_calls: [call('get_weather', { city: 'Paris' })] }),
    means: one
  },
  'no arguments': {
    seen: 'aichat#1217',
    events: [opening, chunk(tools({ index: 0, id: 'a', type: 'function', function: { name: 'get_weather' } })), ...ended],
    whole: answer({ role: 'assistant', content: null, tool_calls: [call('get_weather', '')] }, 'tool_calls'),
    means: { calls: [{ name: 'get_weather', input: {} }], finish: 'tool_calls' }
  },
  'tool calls that end with stop': {
    seen: 'python-genai#2868, litellm#35663',
    events: [opening, chunk(tools(weather)), chunk({}, 'stop'), counted, done],
    whole: answer({ role: 'assistant', content: null, tool_calls: [weatherAlone] }),
    means: one
  },
  'a finish reason with every tool call': {
    seen: 'litellm PR 31634',
    events: [opening, chunk(tools(weather), 'tool_calls'), chunk(tools({ ...time, index: 1 }), 'tool_calls'), counted, done],
    means: both
  },
  'a finish reason after every tool call': {
    seen: 'Gemini',
    events: [
      opening, chunk(tools(weather)), chunk({}, 'tool_calls'), chunk(tools({ ...time, index: 1 })), chunk({}, 'stop'), done
    ],
    means: both
  },
  'stop with every chunk': {
    seen: 'llama-cpp-python', events: [chunk({ role: 'assistant', content: 'Hi ' }, 'stop'), chunk({ content: 'there!' }, 'stop'), done], means: hi
  },
  'a finish reason twice': {
    seen: 'proxies that add one', events: [opening, chunk({ content: 'Hi there!' }), ...stopped.slice(0, 1), ...stopped], means: hi
  },
  'an empty finish reason with every chunk': {
    seen: 'ollama#4357, sglang#3912',
    events: [chunk({ role: 'assistant', content: 'Hi ' }, ''), chunk({ role: 'assistant', content: 'there!' }, ''), ...stopped],
    means: hi
  },
  'no finish reason': {
    seen: 'vllm-mlx#628, litellm PR 12666',
    events: [opening, chunk({ content: 'Hi there!' }), counted, done],
    whole: answer({ role: 'assistant', content: 'Hi there!' }, null),
    means: hi
  },
  'tool calls and no finish reason': {
    seen: 'openclaw#98575',
    events: [opening, chunk(tools(weather)), done],
    whole: answer({ role: 'assistant', tool_calls: [weatherAlone] }, null),
    means: one
  },
  'tool_calls as the reason without any call': {
    seen: 'servers whose parser found none',
    events: [opening, chunk({ content: 'Hi there!' }), chunk({}, 'tool_calls'), done],
    whole: answer({ role: 'assistant', content: 'Hi there!', tool_calls: [] }, 'tool_calls'),
    means: hi
  },
  'words of another API for the finish reason': {
    seen: 'litellm#12481',
    events: [opening, chunk({ content: 'Hi there!' }), chunk({}, 'end_turn'), done],
    whole: answer({ role: 'assistant', content: 'Hi there!' }, 'STOP'),
    means: hi
  },
  'a finish reason with its details': {
    seen: 'Gemini',
    dialect: 'gemini',
    events: [opening, chunk({ content: 'Hi there!' }), chunk({}, 'content_filter: PROHIBITED_CONTENT'), done],
    whole: answer({ role: 'assistant', content: 'Hi there!' }, 'content_filter: RECITATION'),
    means: { text: 'Hi there!', finish: 'content_filter' }
  },
  'another word for the end': {
    seen: 'servers of one model',
    events: [opening, chunk({ content: 'Hi there!' }), chunk({}, 'eos_token'), done],
    whole: answer({ role: 'assistant', content: 'Hi there!' }, 'COMPLETE'),
    means: hi
  },
  'chunks with different ids': {
    seen: 'litellm#32607',
    events: [opening, chunk({ content: 'Hi ' }, null, { id: 'b' }), chunk({ content: 'there!' }, null, { id: 'c' }), ...stopped],
    means: hi
  },
  'no role': {
    seen: 'Portkey#1399',
    events: [chunk({ content: 'Hi ' }), chunk({ content: 'there!' }), ...stopped],
    whole: answer({ content: 'Hi there!' }),
    means: hi
  },
  'a role with every chunk': {
    seen: 'Ollama, Gemini',
    events: [
      chunk({ role: 'assistant', content: 'Hi' }), chunk({ role: 'assistant', content: ' ' }),
      chunk({ role: 'assistant', content: 'the' }), chunk({ role: 'assistant', content: 're!' }), ...stopped
    ],
    means: hi
  },
  'thoughts in reasoning': {
    seen: 'vLLM, litellm#20246',
    events: [opening, chunk({ reasoning: 'Let me ' }), chunk({ reasoning: 'see.' }), chunk({ content: 'Hi there!' }), ...stopped],
    whole: answer({ role: 'assistant', content: 'Hi there!', reasoning: 'Let me see.' }),
    means: { ...hi, reasoning: 'Let me see.' }
  },
  'comments and pings': {
    seen: 'OpenRouter, proxies of Claude',
    events: [
      ': OPENROUTER PROCESSING\n\n', opening, 'event: ping\ndata: {"type":"ping"}\n\n', ': wait\n\n',
      `event: message\nid: 7\ndata: ${JSON.stringify(chunk({ content: 'Hi there!' }))}\n\n`, ...stopped
    ],
    means: hi
  },
  'two chunks in one event': {
    seen: 'servers that leave out empty lines',
    events: [
      `data: ${JSON.stringify(opening)}\ndata: ${JSON.stringify(chunk({ content: 'Hi ' }))}\n\n`,
      `data: ${JSON.stringify(chunk({ content: 'there!' }))}${JSON.stringify(chunk({}, 'stop'))}\n`, 'data: [DONE]\n\n'
    ],
    means: hi
  },
  'a byte order mark, several lines of data, and spaces around [DONE]': {
    seen: 'servers of other ecosystems',
    events: [
      `\ufeffdata: ${JSON.stringify(chunk({ role: 'assistant', content: 'Hi ' }), null, 1).replaceAll('\n', '\ndata: ')}\n\n`,
      chunk({ content: 'there!' }), chunk({}, 'stop'), 'data:  [DONE] \n\n'
    ],
    means: hi
  },
  'nothing but deltas': {
    seen: 'small servers',
    events: [{ choices: [{ delta: { content: 'Hi ' } }] }, { choices: [{ delta: { content: 'there!' } }] }, done],
    whole: { choices: [{ message: { content: 'Hi there!' } }] },
    means: hi
  },
  'messages in place of deltas': {
    seen: 'small servers',
    events: [
      { ...head, choices: [{ index: 0, message: { role: 'assistant', content: 'Hi ' } }] },
      { ...head, choices: [{ index: 0, message: { content: 'there!' }, finish_reason: 'stop' }] }, done
    ],
    whole: answer({}, 'stop', { choices: [{ text: 'Hi there!' }] }),
    means: hi
  },
  'a null delta at the end': {
    seen: 'Azure; weave#3922', events: [opening, chunk({ content: 'Hi there!' }), chunk(null, 'stop'), done], means: hi
  },
  'a first chunk without choices': {
    seen: 'Azure; grafana-llm-app#790',
    events: [
      { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [] }, opening,
      chunk({ content: 'Hi there!' }), ...stopped
    ],
    means: hi
  },
  'null for a list of choices': {
    seen: 'MiniMax; Roo-Code#9105',
    events: [opening, chunk({ content: 'Hi there!' }), chunk({}, 'stop'), { ...head, choices: null, usage }, done],
    means: hi
  },
  'usage with every chunk': {
    seen: 'vLLM, Perplexity',
    events: [
      chunk({ role: 'assistant', content: 'Hi ' }, null, { usage: { ...usage, completion_tokens: 1, total_tokens: 9 } }),
      chunk({ content: 'there!' }, null, { usage: { ...usage, completion_tokens: 3, total_tokens: 11 } }),
      chunk({}, 'stop', { usage }), done
    ],
    means: hi
  },
  'usage with a choice': {
    seen: 'Moonshot',
    dialect: 'moonshot',
    events: [opening, chunk({ content: 'Hi there!' }), { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }, done],
    whole: answer({}, 'stop', {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi there!' }, finish_reason: 'stop', usage }], usage: undefined
    }),
    means: hi
  },
  'nulls in place of lists': {
    seen: 'Mistral, vLLM',
    events: [
      chunk({ role: 'assistant', content: 'Hi ', tool_calls: null, function_call: null }),
      chunk({ content: 'there', tool_calls: null, function_call: null }),
      chunk({ content: '!', tool_calls: null, function_call: null }), ...stopped
    ],
    whole: answer({ role: 'assistant', content: 'Hi there!', tool_calls: null, function_call: null, annotations: null }),
    means: hi
  },
  'usage with a choice, after its end': {
    seen: 'Moonshot',
    events: [
      opening, chunk({ content: 'Hi there!' }), { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: null, usage }] }, done
    ],
    means: hi
  },
  'parts in place of a text': {
    seen: 'Mistral, proxies of Claude',
    events: [opening, chunk({ content: [{ type: 'text', text: 'Hi there!' }] }), ...stopped],
    whole: answer({ role: 'assistant', content: [{ type: 'text', text: 'Hi there!' }] }),
    means: hi
  }
}
