import t, { type Test } from 'tap'
import { ChatCompletionRequest } from '../../../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../../../schemas/openai/chat-messages.ts'
import { dialects } from '../../../../services/providers/openai/dialects.ts'
import { requestRules } from '../../../../services/providers/openai/request-rules.ts'
import { requestEdits } from '../../../../services/providers/openai/request.ts'
import { JsonText } from '../../../../services/shared/json.ts'

type Fields = Record<string, unknown>

const messages: ChatMessage[] = [{ role: 'user', content: 'Hi' }]
const tools = [{ type: 'function' as const, function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
const { signal } = new AbortController()

/** The members that an upstream gets, beside model and messages, and what is dropped. */
function sent (dialect: string, model: string, fields: Fields) {
  const row = dialects[dialect]
  if (row === undefined) throw new Error(`no dialect ${dialect}`)
  const request = { model, messages, ...fields }
  const text = JsonText.from(request)
  const { edits, dropped } = requestEdits({ body: request, rawBody: text, model, outputLimit: null, requestId: 'r', signal }, row)
  const body: Fields & { messages?: Fields[] } = JSON.parse(Buffer.from(text.with(edits)).toString())
  const { model: _, messages: said, ...members } = body
  return { members, said, dropped }
}

function check (
  t: Test, dialect: string, model: string, fields: Fields, members: Fields, dropped: string[] = []
): void {
  const seen = sent(dialect, model, fields)
  t.same({ members: seen.members, dropped: seen.dropped }, { members, dropped }, `${dialect} ${model} ${JSON.stringify(fields)}`)
}

const sampling = { temperature: 0.5, top_p: 0.5, logprobs: true, top_logprobs: 2, stop: ['END'] }
const penalties = { presence_penalty: 1, frequency_penalty: 1 }
const lost = ['presence_penalty', 'frequency_penalty']

t.test('OpenAI: reasoning models get no sampling and no stop, unless they can do without reasoning', async t => {
  for (const dialect of ['openai', 'azure']) {
    check(t, dialect, 'gpt-5.2', { ...sampling, ...penalties }, {}, [...lost, ...Object.keys(sampling)])
    check(t, dialect, 'gpt-5.2', { ...sampling, reasoning_effort: 'none' }, { ...sampling, reasoning_effort: 'none' })
    for (const model of ['o3', 'gpt-5-mini', 'gpt-6-sol']) {
      check(t, dialect, model, { ...sampling, reasoning_effort: 'none' }, { reasoning_effort: 'none' }, Object.keys(sampling))
    }
    check(t, dialect, 'gpt-4.1', { ...sampling, reasoning_effort: 'low', verbosity: 'low' }, sampling, ['reasoning_effort', 'verbosity'])
    check(t, dialect, 'gpt-4.1', { verbosity: 'medium' }, { verbosity: 'medium' })
  }
})

t.test('xAI: reasoning models get no penalties and no stop, and an effort only where they take one', async t => {
  const stopping = { ...penalties, stop: 'END' }
  const effort = (value: string): Fields => ({ reasoning_effort: value })
  for (const model of ['grok-4.20-reasoning', 'grok-4.20-0309-reasoning', 'grok-4', 'grok-4-fast-reasoning', 'grok-4-1-fast-reasoning', 'grok-code-fast-1', 'grok-build-0.1']) {
    for (const value of ['none', 'high']) {
      check(t, 'xai', model, { ...stopping, ...effort(value) }, {}, [...lost, 'stop', 'reasoning_effort'])
    }
  }
  check(t, 'xai', 'grok-4.20-non-reasoning', { ...stopping, ...effort('low') }, stopping, ['reasoning_effort'])
  check(t, 'xai', 'grok-3', { ...stopping, ...effort('low') }, stopping, ['reasoning_effort'])
  check(t, 'xai', 'grok-4.3', { ...stopping, ...effort('none') }, effort('none'), [...lost, 'stop'])
  check(t, 'xai', 'grok-4.3', effort('minimal'), effort('low'))
  check(t, 'xai', 'grok-4.5', effort('none'), {}, ['reasoning_effort'])
  check(t, 'xai', 'grok-4.5', effort('max'), effort('high'))
  check(t, 'xai', 'grok-4.7', effort('max'), effort('xhigh'))
  check(t, 'xai', 'grok-3-mini', effort('medium'), effort('high'))
  check(t, 'xai', 'grok-4.3', { logprobs: true, top_logprobs: 20 }, { logprobs: true, top_logprobs: 8 }, ['top_logprobs'])
})

t.test('Mistral: its own names, bounds and efforts; what it does not list is dropped', async t => {
  const cached = { prompt_cache_key: 'a', metadata: { a: 'b' } }
  check(t, 'mistral', 'mistral-small-latest', { ...cached, seed: 1 }, { ...cached, random_seed: 1 })
  check(t, 'mistral', 'mistral-small-latest', { temperature: 2, web_search_options: {}, modalities: ['text'] }, { temperature: 1.5 }, ['modalities', 'web_search_options', 'temperature'])
  check(t, 'mistral', 'mistral-large-2512', { reasoning_effort: 'high' }, {}, ['reasoning_effort'])
  check(t, 'mistral', 'magistral-medium-latest', { reasoning_effort: 'max' }, { reasoning_effort: 'xhigh' })
})

t.test('DeepSeek: thinking is a field of its own, off where a tool is forced', async t => {
  const off = { thinking: { type: 'disabled' } }
  check(t, 'deepseek', 'deepseek-v4-pro', { reasoning_effort: 'none' }, off)
  check(t, 'deepseek', 'deepseek-v4-pro', { reasoning_effort: 'high' }, { reasoning_effort: 'high' })
  for (const choice of ['required', { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]) {
    check(t, 'deepseek', 'deepseek-v4-flash', { tools, tool_choice: choice }, { tools, tool_choice: choice, ...off })
  }
  const forced = { tools, tool_choice: 'required' }
  check(t, 'deepseek', 'deepseek-v4-pro', { ...forced, reasoning_effort: 'high' }, { ...forced, ...off }, ['reasoning_effort'])
  check(t, 'deepseek', 'deepseek-v4-pro', { ...forced, thinking: { type: 'enabled' } }, { ...forced, thinking: { type: 'enabled' } })
  check(t, 'deepseek', 'deepseek-chat', forced, forced)
  check(t, 'deepseek', 'deepseek-v4-pro', { tools, tool_choice: 'auto' }, { tools, tool_choice: 'auto' })
})

t.test('DeepSeek: a schema is an instruction', async t => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const format = { type: 'json_schema', json_schema: { name: 'n', schema } }
  const { members, said, dropped } = sent('deepseek', 'deepseek-v4-pro', { response_format: format })
  t.same([members, dropped], [{ response_format: { type: 'json_object' } }, ['response_format']])
  t.match(said, [{ role: 'system', content: `JSON Schema:\n${JSON.stringify(schema)}` }, ...messages])
  check(t, 'deepseek', 'deepseek-chat', { response_format: { type: 'json_object' } }, { response_format: { type: 'json_object' } })
  check(t, 'mistral', 'mistral-small-latest', { response_format: format }, { response_format: format })
})

t.test('Groq, Together, Fireworks, Cerebras, Perplexity, NVIDIA, Gemini: efforts and refused fields', async t => {
  const effort = (value: string): Fields => ({ reasoning_effort: value })
  check(t, 'groq', 'openai/gpt-oss-120b', { ...effort('xhigh'), service_tier: 'default', store: false }, { ...effort('high'), service_tier: 'on_demand' }, ['store'])
  check(t, 'groq', 'qwen/qwen3-32b', effort('high'), effort('default'))
  check(t, 'groq', 'qwen/qwen3-32b', effort('none'), effort('none'))
  check(t, 'groq', 'llama-3.3-70b-versatile', effort('low'), {}, ['reasoning_effort'])
  check(t, 'together', 'a/b', effort('none'), { reasoning: { enabled: false } })
  check(t, 'together', 'a/b', { web_search_options: {}, service_tier: 'auto', seed: 1 }, { seed: 1 }, ['service_tier', 'web_search_options'])
  check(t, 'fireworks', 'accounts/fireworks/models/a', effort('xhigh'), effort('high'))
  check(t, 'fireworks', 'accounts/fireworks/models/a', { web_search_options: {}, service_tier: 'priority' }, { service_tier: 'priority' }, ['web_search_options'])
  check(t, 'deepseek', 'deepseek-chat', { web_search_options: {}, seed: 1, top_p: 0.5 }, { top_p: 0.5 }, ['seed', 'web_search_options'])
  check(t, 'cerebras', 'zai-glm-4.7', { ...effort('minimal'), metadata: {}, ...penalties }, { ...effort('low'), ...penalties }, ['metadata'])
  check(t, 'perplexity', 'sonar', { ...effort('none'), seed: 1, stop: 'END' }, { stop: 'END' }, ['seed', 'reasoning_effort'])
  check(t, 'nvidia', 'a/b', { prompt_cache_key: 'a', seed: 1 }, { seed: 1 }, ['prompt_cache_key'])
  check(t, 'gemini', 'gemini-3.5-flash', { prompt_cache_key: 'a', seed: 1 }, { seed: 1 }, ['prompt_cache_key'])
})

t.test('Moonshot: Kimi has fixed sampling, each generation its own control of thoughts', async t => {
  const fixed = { temperature: 0.5, top_p: 0.5, ...penalties }
  check(t, 'moonshot', 'kimi-k2.6', { ...fixed, reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }, ['temperature', 'top_p', ...lost])
  check(t, 'moonshot', 'kimi-k2.6', { reasoning_effort: 'low', tools, tool_choice: 'required' }, { thinking: { type: 'enabled' }, tools }, ['tool_choice'])
  check(t, 'moonshot', 'kimi-k2.7-code', { reasoning_effort: 'none' }, {}, ['reasoning_effort'])
  check(t, 'moonshot', 'kimi-k3', { reasoning_effort: 'medium' }, { reasoning_effort: 'high' })
  check(t, 'moonshot', 'moonshot-v1-8k', { temperature: 1.7 }, { temperature: 1 }, ['temperature'])
})

const call = { id: 'abcdefghi', type: 'function', function: { name: 'f', arguments: '{}' } }
/** A turn as the official SDK sends it back: the whole answer of the gateway. */
const answer = {
  role: 'assistant', content: null, refusal: null, annotations: [], reasoning_content: 'hm', tool_calls: [call]
}
const turns = (...said: Fields[]): Fields => ({
  messages: [{ role: 'user', content: 'Hi', name: 'Eve' }, ...said, { role: 'tool', tool_call_id: 'a', content: '1' }]
})

t.test('past thoughts go back under the name that the upstream takes, or not at all', async t => {
  const expected: [string, string, Fields][] = [
    ['groq', 'openai/gpt-oss-120b', { role: 'assistant', content: null, tool_calls: [call], reasoning: 'hm' }],
    ['cerebras', 'gpt-oss-120b', { role: 'assistant', content: null, tool_calls: [call], reasoning: 'hm' }],
    ['mistral', 'mistral-medium-latest', { role: 'assistant', content: null, tool_calls: [call] }],
    ['gemini', 'gemini-3.5-flash', { role: 'assistant', content: null, tool_calls: [call] }],
    ['deepseek', 'deepseek-v4-pro', answer],
    ['moonshot', 'kimi-k2.6', answer],
    ['compatible', 'any', answer]
  ]
  for (const [dialect, model, message] of expected) {
    const { said, dropped } = sent(dialect, model, turns(answer))
    t.same(said?.[1], message, dialect)
    t.same(dropped, dialect === 'mistral' ? ['messages[].name'] : [], dialect)
  }
  t.same(sent('mistral', 'm', turns(answer)).said?.[0], { role: 'user', content: 'Hi' })
  const { said } = sent('mistral', 'm', turns({ role: 'assistant', content: null, refusal: 'No.' }))
  t.same(said?.[1], { role: 'assistant', content: 'No.' })
})

t.test('thoughts that a thinking model requires are filled in from what is known', async t => {
  const bare = { role: 'assistant', content: null, tool_calls: [call] }
  const past = (dialect: string, model: string, ...said: Fields[]) => {
    const { said: back = [] } = sent(dialect, model, turns(...said))
    return back.slice(1, 1 + said.length).map(message => message.reasoning_content)
  }
  const known = [
    { ...bare, reasoning: 'a' },
    {
      ...bare,
      reasoning_details: [{ type: 'reasoning.text', text: 'b' }, { type: 'reasoning.encrypted', data: 'x' }]
    },
    bare,
    { role: 'assistant', content: 'Done.' }
  ]
  t.same(past('deepseek', 'deepseek-v4-pro', ...known), ['a', 'b', '', ''])
  t.same(past('deepseek', 'deepseek-reasoner', bare), [''])
  t.same(past('moonshot', 'kimi-k2.6', ...known), ['a', 'b', ' ', undefined])
  t.same(past('deepseek', 'deepseek-chat', bare), [undefined])
  t.same(past('deepseek', 'deepseek-v4-pro', { role: 'assistant', content: 'Done.' }), [undefined], 'without tool calls')
})

t.test('a request in which nothing has to change keeps its bytes', async t => {
  for (const [name, row] of Object.entries(dialects)) {
    const said = { role: 'assistant' as const, content: 'Hello' }
    const request = { model: 'm', messages: [...messages, said, ...messages] }
    const text = JsonText.from(request)
    const { edits } = requestEdits({ body: request, rawBody: text, model: 'm', outputLimit: null, requestId: 'r', signal }, row)
    t.equal(edits.size, 0, name)
  }
})

/** Fields of OpenAI's request that the SDKs of servers with fixed lists of fields know, beside `common`. */
const lists: Record<string, string[]> = {
  mistral: ['metadata', 'prediction', 'prompt_cache_key', 'presence_penalty', 'frequency_penalty', 'seed', 'functions', 'function_call'],
  groq: ['functions', 'function_call', 'presence_penalty', 'frequency_penalty', 'seed', 'service_tier', 'user'],
  cerebras: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'prediction', 'prompt_cache_key', 'seed', 'service_tier', 'user', 'functions', 'function_call']
}
const common = [
  'model', 'messages', 'max_tokens', 'max_completion_tokens', 'n', 'parallel_tool_calls', 'reasoning_effort', 'response_format', 'stop',
  'stream', 'stream_options', 'temperature', 'tool_choice', 'tools', 'top_p',
  // The gateway's own.
  'fallbacks', 'routing', 'video', 'webhook_url'
]

t.test('every field of OpenAI\'s request is known to a strict server, or dropped', async t => {
  for (const [name, known] of Object.entries(lists)) {
    const { drop } = dialects[name]?.rules ?? requestRules.none
    const missed = Object.keys(ChatCompletionRequest.properties)
      .filter(field => !common.includes(field) && !known.includes(field) && !drop.includes(field))
    t.same(missed, [], name)
    t.same(drop.filter(field => known.includes(field)), [], `${name} drops nothing that is known`)
  }
})

t.test('the rules say where and when they were read', async t => {
  for (const [name, { sources, read }] of Object.entries(requestRules)) {
    t.match(read, /^20\d\d-\d\d-\d\d$/, name)
    if (name !== 'none') t.ok(sources.length > 0, name)
  }
})
