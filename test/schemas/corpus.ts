/** Fields of a chat request that make it right or wrong; each is merged into a minimal request. */
export type Patch = Record<string, unknown>

/** A minimal chat request with some fields set, or left out where the patch says undefined. */
export function chatRequest (patch: Patch): Patch {
  const request = { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello' }], ...patch }
  return JSON.parse(JSON.stringify(request))
}

/** A minimal text completion request with some fields set. */
export function completionRequest (patch: Patch): Patch {
  return JSON.parse(JSON.stringify({ model: 'davinci-002', prompt: 'Hello', ...patch }))
}

const user = (...content: Patch[]): Patch => ({ messages: [{ role: 'user', content }] })
const text = { type: 'text', text: 'What is this?' }
const named = { type: 'object', properties: { city: { type: 'string' } } }
const toolCall = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
const customCall = { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'ls' } }
const assistant = (fields: Patch): Patch => ({
  messages: [{ role: 'user', content: 'Hello' }, { role: 'assistant', ...fields }]
})

const nullable = [
  'stream', 'stream_options', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'n', 'stop',
  'frequency_penalty', 'presence_penalty', 'seed', 'logit_bias', 'logprobs', 'modalities', 'audio', 'prediction',
  'reasoning_effort', 'verbosity', 'service_tier', 'store', 'metadata', 'safety_identifier', 'prompt_cache_key',
  'prompt_cache_retention', 'moderation'
]

/** Chat requests that the specification and the gateway accept. */
export const acceptedChat: Patch[] = [
  {},
  ...nullable.map(field => ({ [field]: null })),
  { temperature: 0 }, { temperature: 2 }, { temperature: 1.25 }, { top_p: 0 }, { top_p: 1 },
  { n: 1 }, { n: 128 }, { max_tokens: 1 }, { max_completion_tokens: 100_000 },
  { frequency_penalty: -2, presence_penalty: 2 }, { seed: -7 }, { seed: 2 ** 53 },
  { stop: 'END' }, { stop: ['a'] }, { stop: ['a', 'b', 'c', 'd'] },
  { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
  { logprobs: true, top_logprobs: 20 }, { logit_bias: { 50256: -100, 11: 100 } }, { logit_bias: {} },
  { user: 'u-1', metadata: { a: 'b' }, store: true, safety_identifier: 'x'.repeat(64) },
  { reasoning_effort: 'xhigh', verbosity: 'low', service_tier: 'flex' },
  { prompt_cache_key: 'k', prompt_cache_retention: '24h', prompt_cache_options: { ttl: '30m', mode: 'explicit' } },
  { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } },
  { audio: { voice: { id: 'voice_1' }, format: 'wav' } },
  { prediction: { type: 'content', content: 'x' } }, { prediction: { type: 'content', content: [text] } },
  { web_search_options: {} },
  { web_search_options: { user_location: { type: 'approximate', approximate: { city: 'Bern' } } } },
  { moderation: { model: 'omni-moderation-latest' } },
  { response_format: { type: 'text' } }, { response_format: { type: 'json_object' } },
  { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: named, strict: true } } },
  { response_format: { type: 'json_schema', json_schema: { name: 'n', strict: null } } },
  { tools: [] },
  { tools: [{ type: 'function', function: { name: 'weather' } }], tool_choice: 'auto' },
  { tools: [{ type: 'function', function: { name: 'w', description: 'd', parameters: named, strict: true } }] },
  { tools: [{ type: 'custom', custom: { name: 'shell', format: { type: 'text' } } }] },
  {
    tools: [{
      type: 'custom',
      custom: { name: 's', format: { type: 'grammar', grammar: { definition: 'x', syntax: 'lark' } } }
    }]
  },
  { tool_choice: 'none' }, { tool_choice: 'required' }, { parallel_tool_calls: false },
  { tool_choice: { type: 'function', function: { name: 'weather' } } },
  { tool_choice: { type: 'custom', custom: { name: 'shell' } } },
  { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function' }] } } },
  { functions: [{ name: 'f', parameters: {} }], function_call: 'auto' }, { function_call: { name: 'f' } },
  { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi', name: 'ann' }] },
  { messages: [{ role: 'developer', content: [text] }, { role: 'user', content: '' }] },
  user(text), user(text, text),
  user({ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } }),
  user({ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }),
  user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
  user({ type: 'file', file: { file_id: 'file-1' } }), user({ type: 'file', file: {} }),
  user({ ...text, prompt_cache_breakpoint: { mode: 'explicit' } }),
  assistant({}), assistant({ content: null }), assistant({ content: 'Hi', refusal: null }),
  assistant({ content: [text, { type: 'refusal', refusal: 'No.' }] }),
  assistant({ tool_calls: [toolCall, customCall] }), assistant({ content: null, tool_calls: [toolCall] }),
  assistant({ function_call: { name: 'f', arguments: '{}' } }), assistant({ function_call: null, audio: null }),
  assistant({ audio: { id: 'audio_1' }, name: 'bob' }),
  { messages: [{ role: 'tool', content: '21 °C', tool_call_id: 'call_1' }] },
  { messages: [{ role: 'tool', content: [text], tool_call_id: 'call_1' }] },
  { messages: [{ role: 'function', content: null, name: 'f' }] },
  { top_k: 40, video: { seconds: 5 }, thinking: { type: 'enabled' } },
  { messages: [{ role: 'user', content: 'Hi', cache_control: { type: 'ephemeral' } }] }
]

/** Chat requests that the gateway accepts beyond the specification. */
export const acceptedBeyondSpecification: Patch[] = [
  // The field list of the live service takes null; one of two declarations in the specification does not.
  { top_logprobs: null },
  // Newer than the specification.
  user({ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'original' } }),
  // The form in which several other providers take a video.
  user({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } })
]

/** Chat requests that the specification lets through and the live service refuses, as does the gateway. */
export const refusedBeyondSpecification: Patch[] = [
  { model: '' }, { max_tokens: 0 }, { max_tokens: -1 }, { max_completion_tokens: 0 },
  { logit_bias: { 50256: 101 } }, { logit_bias: { 50256: -101 } }
]

interface Refusal { patch: Patch, param: string | null, code: string | null, message?: string }

/** Chat requests that both refuse, and what the gateway says about them. */
export const refusedChat: Refusal[] = [
  { patch: { model: undefined }, param: null, code: null, message: 'you must provide a model parameter' },
  { patch: { model: undefined, messages: undefined }, param: null, code: null },
  {
    patch: { messages: undefined },
    param: 'messages',
    code: 'missing_required_parameter',
    message: "Missing required parameter: 'messages'."
  },
  {
    patch: { model: 5 },
    param: 'model',
    code: 'invalid_type',
    message: "Invalid type for 'model': expected a string, but got an integer instead."
  },
  { patch: { model: null }, param: 'model', code: 'invalid_type' },
  {
    patch: { messages: [] },
    param: 'messages',
    code: 'empty_array',
    message: "Invalid 'messages': empty array. Expected an array with minimum length 1, " +
      'but got an empty array instead.'
  },
  {
    patch: { messages: 'Hello' },
    param: 'messages',
    code: 'invalid_type',
    message: "Invalid type for 'messages': expected an array, but got a string instead."
  },
  { patch: { messages: ['Hello'] }, param: 'messages[0]', code: 'invalid_type' },
  {
    patch: { messages: [{ content: 'Hello' }] },
    param: 'messages[0].role',
    code: 'missing_required_parameter',
    message: "Missing required parameter: 'messages[0].role'."
  },
  {
    patch: { messages: [{ role: 'robot', content: 'Hello' }] },
    param: 'messages[0].role',
    code: 'invalid_value',
    message: "Invalid value: 'robot'. Supported values are: 'developer', 'system', 'user', 'assistant', 'tool', " +
      "and 'function'."
  },
  { patch: { messages: [{ role: 5, content: 'Hello' }] }, param: 'messages[0].role', code: 'invalid_type' },
  { patch: { messages: [{ role: 'user' }] }, param: 'messages[0].content', code: 'missing_required_parameter' },
  {
    patch: { messages: [{ role: 'user', content: 5 }] },
    param: 'messages[0].content',
    code: 'invalid_type',
    message: "Invalid type for 'messages[0].content': expected one of a string or an array, " +
      'but got an integer instead.'
  },
  { patch: { messages: [{ role: 'user', content: null }] }, param: 'messages[0].content', code: 'invalid_type' },
  { patch: user(), param: 'messages[0].content', code: 'empty_array' },
  {
    patch: user(text, { type: 'hologram' }),
    param: 'messages[0].content[1].type',
    code: 'invalid_value',
    message: "Invalid value: 'hologram'. Supported values are: 'text', 'image_url', 'input_audio', 'file', " +
      "and 'video_url'."
  },
  { patch: user({ text: 'x' }), param: 'messages[0].content[0].type', code: 'missing_required_parameter' },
  { patch: user({ type: 'text' }), param: 'messages[0].content[0].text', code: 'missing_required_parameter' },
  {
    patch: user({ type: 'image_url', image_url: 'https://example.com' }),
    param: 'messages[0].content[0].image_url',
    code: 'invalid_type'
  },
  {
    patch: user({ type: 'image_url', image_url: { url: 'https://a.b', detail: 'ultra' } }),
    param: 'messages[0].content[0].image_url.detail',
    code: 'invalid_value'
  },
  {
    patch: user({ type: 'input_audio', input_audio: { data: 'A', format: 'ogg' } }),
    param: 'messages[0].content[0].input_audio.format',
    code: 'invalid_value',
    message: "Invalid value: 'ogg'. Supported values are: 'wav' and 'mp3'."
  },
  {
    patch: { messages: [{ role: 'system', content: [{ type: 'image_url' }] }] },
    param: 'messages[0].content[0].type',
    code: 'invalid_value',
    message: "Invalid value: 'image_url'. Supported values are: 'text'."
  },
  {
    patch: { messages: [{ role: 'tool', content: 'x' }] },
    param: 'messages[0].tool_call_id',
    code: 'missing_required_parameter'
  },
  {
    patch: { messages: [{ role: 'function', content: 'x' }] },
    param: 'messages[0].name',
    code: 'missing_required_parameter'
  },
  {
    patch: assistant({ tool_calls: [{ id: 'c', type: 'function', function: { name: 'f' } }] }),
    param: 'messages[1].tool_calls[0].function.arguments',
    code: 'missing_required_parameter'
  },
  { patch: assistant({ tool_calls: [{}] }), param: 'messages[1].tool_calls[0].type', code: 'missing_required_parameter' },
  { patch: assistant({ content: [] }), param: 'messages[1].content', code: 'empty_array' },
  {
    patch: { temperature: 2.1 },
    param: 'temperature',
    code: 'decimal_above_max_value',
    message: "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.1 instead."
  },
  { patch: { temperature: 3 }, param: 'temperature', code: 'decimal_above_max_value' },
  {
    patch: { temperature: -0.1 },
    param: 'temperature',
    code: 'decimal_below_min_value',
    message: "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -0.1 instead."
  },
  {
    patch: { temperature: 'hot' },
    param: 'temperature',
    code: 'invalid_type',
    message: "Invalid type for 'temperature': expected a decimal, but got a string instead."
  },
  { patch: { temperature: '1' }, param: 'temperature', code: 'invalid_type' },
  { patch: { top_p: 1.01 }, param: 'top_p', code: 'decimal_above_max_value' },
  { patch: { presence_penalty: -2.5 }, param: 'presence_penalty', code: 'decimal_below_min_value' },
  {
    patch: { n: 129 },
    param: 'n',
    code: 'integer_above_max_value',
    message: "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 129 instead."
  },
  { patch: { n: 0 }, param: 'n', code: 'integer_below_min_value' },
  {
    patch: { n: 1.5 },
    param: 'n',
    code: 'invalid_type',
    message: "Invalid type for 'n': expected an integer, but got a decimal number instead."
  },
  { patch: { max_tokens: '100' }, param: 'max_tokens', code: 'invalid_type' },
  { patch: { max_tokens: 1.5 }, param: 'max_tokens', code: 'invalid_type' },
  { patch: { top_logprobs: 21 }, param: 'top_logprobs', code: 'integer_above_max_value' },
  { patch: { stream: 'true' }, param: 'stream', code: 'invalid_type' },
  { patch: { stream: 1 }, param: 'stream', code: 'invalid_type' },
  { patch: { stream_options: { include_usage: 1 } }, param: 'stream_options.include_usage', code: 'invalid_type' },
  {
    patch: { stop: ['a', 'b', 'c', 'd', 'e'] },
    param: 'stop',
    code: 'array_above_max_length',
    message: "Invalid 'stop': array too long. Expected an array with maximum length 4, " +
      'but got an array with length 5 instead.'
  },
  { patch: { stop: [] }, param: 'stop', code: 'empty_array' },
  { patch: { stop: [1] }, param: 'stop[0]', code: 'invalid_type' },
  { patch: { logit_bias: { 50256: 1.5 } }, param: 'logit_bias.50256', code: 'invalid_type' },
  { patch: { metadata: { a: 1 } }, param: 'metadata.a', code: 'invalid_type' },
  { patch: { metadata: { 'a/b~c': 1 } }, param: 'metadata.a/b~c', code: 'invalid_type' },
  {
    patch: { safety_identifier: 'x'.repeat(65) },
    param: 'safety_identifier',
    code: 'string_above_max_length',
    message: "Invalid 'safety_identifier': string too long. Expected a string with maximum length 64, " +
      'but got a string with length 65 instead.'
  },
  { patch: { user: null }, param: 'user', code: 'invalid_type' },
  { patch: { tools: null }, param: 'tools', code: 'invalid_type' },
  { patch: { tools: [{ type: 'function', function: {} }] }, param: 'tools[0].function.name', code: 'missing_required_parameter' },
  { patch: { tools: [{ type: 'search' }] }, param: 'tools[0].type', code: 'invalid_value' },
  {
    patch: { tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] },
    param: 'tools[0].function.parameters',
    code: 'invalid_type'
  },
  {
    patch: { tool_choice: 'sometimes' },
    param: 'tool_choice',
    code: 'invalid_value',
    message: "Invalid value: 'sometimes'. Supported values are: 'none', 'auto', and 'required'."
  },
  { patch: { tool_choice: { type: 'function' } }, param: 'tool_choice.function', code: 'missing_required_parameter' },
  { patch: { tool_choice: 1 }, param: 'tool_choice', code: 'invalid_type' },
  { patch: { function_call: {} }, param: 'function_call.name', code: 'missing_required_parameter' },
  { patch: { functions: [] }, param: 'functions', code: 'empty_array' },
  { patch: { response_format: { type: 'xml' } }, param: 'response_format.type', code: 'invalid_value' },
  {
    patch: { response_format: { type: 'json_schema' } },
    param: 'response_format.json_schema',
    code: 'missing_required_parameter'
  },
  { patch: { response_format: null }, param: 'response_format', code: 'invalid_type' },
  { patch: { reasoning_effort: 'huge' }, param: 'reasoning_effort', code: 'invalid_value' },
  { patch: { service_tier: 'x' }, param: 'service_tier', code: 'invalid_value' },
  { patch: { modalities: ['smell'] }, param: 'modalities[0]', code: 'invalid_value' },
  { patch: { audio: { voice: {}, format: 'wav' } }, param: 'audio.voice.id', code: 'missing_required_parameter' },
  { patch: { prediction: { type: 'guess', content: 'x' } }, param: 'prediction.type', code: 'invalid_value' }
]
