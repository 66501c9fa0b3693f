import t, { type Test } from 'tap'
import type { UserPart } from '../../../../schemas/openai/chat-messages.ts'
import type { ChatCompletionRequest } from '../../../../schemas/openai/chat-completions.ts'
import type { Download } from '../../../../services/media/media.ts'
import type { GeminiEffort } from '../../../../services/providers/gemini/model-traits.ts'
import { createPartReader } from '../../../../services/providers/gemini/media.ts'
import { toGenerateContentRequest } from '../../../../services/providers/gemini/request.ts'
import { fault, generateContentRequest } from '../../../servers/gemini-messages.ts'
import { refusalOf } from '../../../servers/gemini-rules.ts'
import * as fixtures from '../../../fixtures/gemini/responses.ts'

const signal = new AbortController().signal
const user = { role: 'user', content: 'Hi' } as const
type Messages = ChatCompletionRequest['messages']

interface Options { model?: string, outputLimit?: number | null, download?: Download | null }

/** Translates a request, which must be one that the service takes. */
async function send (
  t: Test, fields: Partial<ChatCompletionRequest> & object,
  { model = 'gemini-3.5-flash', outputLimit = null, download = null }: Options = {}
) {
  const request = { model: 'x', messages: [user], ...fields }
  const readPart = createPartReader({ download, signal })
  const { body, dropped } = await toGenerateContentRequest({ body: request, model, outputLimit }, readPart)
  const parsed = JSON.parse(JSON.stringify(body))
  t.equal(fault(parsed, generateContentRequest), null, 'the service can parse it')
  t.equal(refusalOf(parsed, model), null, 'the service takes it')
  return { ...body, dropped }
}

async function refusal (fields: object, options: Options = {}): Promise<unknown> {
  const request = { model: 'x', messages: [user], ...fields }
  const { model = 'gemini-3.5-flash', download = null } = options
  const readPart = createPartReader({ download, signal })
  const call = { body: request, model, outputLimit: null }
  return await toGenerateContentRequest(call, readPart).catch(error => error)
}

t.test('messages become alternating turns', async t => {
  const messages: Messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'One' },
    { role: 'developer', content: [{ type: 'text', text: 'In German.' }] },
    { role: 'user', content: [{ type: 'text', text: 'Two' }, { type: 'text', text: '' }] },
    { role: 'assistant', content: 'Drei', refusal: null },
    { role: 'assistant', content: null },
    { role: 'user', content: '' },
    { role: 'user', content: 'Vier', name: 'Ann' }
  ]
  const { contents, systemInstruction } = await send(t, { messages })
  t.same(systemInstruction, { parts: [{ text: 'Be brief.\n\nIn German.' }] })
  t.same(contents, [
    { role: 'user', parts: [{ text: 'One' }, { text: 'Two' }] },
    { role: 'model', parts: [{ text: 'Drei' }] },
    { role: 'user', parts: [{ text: 'Vier' }] }
  ])
  const gemma = await send(t, { messages: messages.slice(0, 2) }, { model: 'gemma-3-27b-it' })
  t.same(gemma.contents, [{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'One' }] }], 'it has no system messages')
  t.equal(gemma.systemInstruction, undefined)
  const alone = await send(t, { messages: [{ role: 'system', content: 'Say hi.' }] })
  t.same(alone.contents, [{ role: 'user', parts: [{ text: 'Say hi.' }] }], 'something must be asked')
  t.match(await refusal({ messages: [{ role: 'user', content: '' }] }), { kind: 'bad_request', sent: 'no' })
})

t.test('tool calls and results: names by id, signatures, ids of other gateways', async t => {
  const call = (id: string, name: string, args: string, extra: object = {}) =>
    ({ id, type: 'function' as const, function: { name, arguments: args }, ...extra })
  const signed = { extra_content: { google: { thought_signature: fixtures.signature } } }
  const result = (id: string, content: string) => ({ role: 'tool' as const, tool_call_id: id, content })
  const { contents } = await send(t, {
    messages: [
      user,
      { role: 'assistant', content: 'I look.', tool_calls: [call('a', 'f', '{"x":"é"}', signed), call('b', 'g', '')] },
      result('a', '{"ok":true}'),
      result('b', '[1,2]'),
      { role: 'assistant', content: null, tool_calls: [call(`c__thought__${fixtures.otherSignature}`, 'f', 'not json')] },
      result(`c__thought__${fixtures.otherSignature}`, 'sunny'),
      { role: 'assistant', tool_calls: [call('d', 'f', '7'), call('e', 'f', '{}')] },
      result('d', '{"$ref":"#/x"}'),
      result('e', 'null'),
      { role: 'user', content: 'And?' }
    ]
  })
  t.same(contents.slice(1), [
    {
      role: 'model',
      parts: [
        { text: 'I look.' },
        { functionCall: { id: 'a', name: 'f', args: { x: 'é' } }, thoughtSignature: fixtures.signature },
        { functionCall: { id: 'b', name: 'g', args: {} } }
      ]
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'a', name: 'f', response: { ok: true } } },
        { functionResponse: { id: 'b', name: 'g', response: { result: [1, 2] } } }
      ]
    },
    {
      role: 'model',
      parts: [{
        functionCall: { id: 'c', name: 'f', args: { arguments: 'not json' } }, thoughtSignature: fixtures.otherSignature
      }]
    },
    { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: { result: 'sunny' } } }] },
    {
      role: 'model',
      parts: [
        {
          functionCall: { id: 'd', name: 'f', args: { arguments: 7 } },
          thoughtSignature: 'skip_thought_signature_validator'
        },
        { functionCall: { id: 'e', name: 'f', args: {} } }
      ]
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'd', name: 'f', response: { result: '{"$ref":"#/x"}' } } },
        { functionResponse: { id: 'e', name: 'f', response: { result: 'null' } } },
        { text: 'And?' }
      ]
    }
  ])
  const foreign = { extra_content: { google: { thought_signature: 'claude.eyJ0eXBlIjoi' } } }
  const messages: Messages = [user, { role: 'assistant', tool_calls: [call('a', 'f', '{}', foreign)] }, result('a', 'x')]
  t.match((await send(t, { messages })).contents[1], {
    parts: [{ thoughtSignature: 'skip_thought_signature_validator' }]
  }, 'another provider\'s signature is none')
  const older = await send(t, { messages }, { model: 'gemini-2.5-flash' })
  t.notMatch(JSON.stringify(older.contents), 'Signature', 'models that do not check get no dummy')
  t.match(await refusal({ messages: [user, result('zz', 'x')] }), {
    kind: 'bad_request', sent: 'no', details: { param: 'messages[1].tool_call_id', code: 'invalid_value' }
  })
})

t.test('a signed text comes back signed', async t => {
  const extra = { extra_content: { google: { thought_signature: fixtures.signature } } }
  const { contents } = await send(t, { messages: [user, { role: 'assistant', content: 'Yes', ...extra }, user] })
  t.same(contents[1], { role: 'model', parts: [{ text: 'Yes', thoughtSignature: fixtures.signature }] })
})

t.test('legacy functions', async t => {
  const { contents, tools, toolConfig } = await send(t, {
    messages: [
      user,
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":1}' } },
      { role: 'function', name: 'f', content: 'done' }
    ],
    functions: [{ name: 'f', parameters: { type: 'object', properties: { a: { type: 'integer' } } } }],
    function_call: { name: 'f' }
  })
  t.match(contents[1], { parts: [{ functionCall: { name: 'f', args: { a: 1 } } }] })
  t.same(contents[2], { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: 'done' } } }] })
  t.match(tools, [{ functionDeclarations: [{ name: 'f' }] }])
  t.same(toolConfig, { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } })
})

t.test('tools and tool choice', async t => {
  const tool = (name: string, more: object = {}) => ({ type: 'function' as const, function: { name, ...more } })
  const tools = [tool('f', { description: 'F', parameters: { type: 'object', properties: { a: { const: 1 } } } }), tool('g')]
  const plain = await send(t, { tools })
  t.same(plain.tools, [{
    functionDeclarations: [
      { name: 'f', description: 'F', parametersJsonSchema: { type: 'object', properties: { a: { enum: [1] } } } },
      { name: 'g' }
    ]
  }])
  t.equal(plain.toolConfig, undefined)
  const allowed = (mode: 'auto' | 'required') =>
    ({ type: 'allowed_tools' as const, allowed_tools: { mode, tools: [{ type: 'function', function: { name: 'g' } }] } })
  const choices = [
    ['auto', undefined],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ type: 'function' as const, function: { name: 'g' } }, { mode: 'ANY', allowedFunctionNames: ['g'] }],
    [allowed('required'), { mode: 'ANY', allowedFunctionNames: ['g'] }],
    [allowed('auto'), { mode: 'VALIDATED', allowedFunctionNames: ['g'] }]
  ] as const
  for (const [choice, config] of choices) {
    const { toolConfig } = await send(t, { tools, tool_choice: choice })
    t.same(toolConfig?.functionCallingConfig, config, JSON.stringify(choice))
  }
  const strict = await send(t, { tools: [tool('f', { strict: true })] })
  t.same(strict.toolConfig, { functionCallingConfig: { mode: 'VALIDATED' } }, 'strict keeps to the schema')
  t.match(await refusal({ tools: [{ type: 'custom', custom: { name: 'c' } }] }), { details: { param: 'tools[0].type' } })
})

t.test('schemas keep their meaning in the keywords that Gemini supports', async t => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      kind: { const: 'a' },
      item: { $ref: '#/definitions/Item', description: 'dropped' },
      one: { allOf: [{ $ref: '#/$defs/One' }], description: 'x' },
      many: { type: 'array', items: { anyOf: [{ const: 1 }, { type: ['string', 'null'] }] } }
    },
    required: ['kind'],
    additionalProperties: false,
    definitions: { Item: { type: 'string' } },
    $defs: { One: { const: true } }
  }
  const { generationConfig } = await send(t, {
    response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } }
  })
  t.same(generationConfig, {
    responseMimeType: 'application/json',
    responseJsonSchema: {
      type: 'object',
      properties: {
        kind: { enum: ['a'] },
        item: { $ref: '#/$defs/Item' },
        one: { $ref: '#/$defs/One' },
        many: { type: 'array', items: { anyOf: [{ enum: [1] }, { type: ['string', 'null'] }] } }
      },
      required: ['kind'],
      additionalProperties: false,
      $defs: { Item: { type: 'string' }, One: { enum: [true] } }
    }
  })
  t.equal(schema.properties.kind.const, 'a', 'the client\'s own is left alone')
  t.same((await send(t, { response_format: { type: 'json_object' } })).generationConfig, { responseMimeType: 'application/json' })
  t.same((await send(t, { response_format: { type: 'text' } })).generationConfig, undefined)
})

t.test('sampling, limits and log probabilities', async t => {
  const { generationConfig, dropped } = await send(t, {
    temperature: 0,
    top_p: 0.5,
    n: 3,
    stop: 'END',
    seed: 2 ** 33 + 5,
    presence_penalty: 0.5,
    frequency_penalty: -0.5,
    max_tokens: 5,
    max_completion_tokens: 6,
    logprobs: true,
    top_logprobs: 2,
    ...{ top_k: 40 }
  }, { outputLimit: 99 })
  t.same(generationConfig, {
    maxOutputTokens: 5,
    temperature: 0,
    topP: 0.5,
    topK: 40,
    candidateCount: 3,
    stopSequences: ['END'],
    seed: 5,
    presencePenalty: 0.5,
    frequencyPenalty: -0.5,
    responseLogprobs: true,
    logprobs: 2
  })
  t.same(dropped, [])
  t.same((await send(t, {}, { outputLimit: 99 })).generationConfig, { maxOutputTokens: 99 }, 'the money sets a limit')
  const nulls = { temperature: null, top_p: null, n: null, stop: null, seed: null, max_tokens: null }
  t.same((await send(t, nulls)).generationConfig, undefined, 'null is nothing')
  const older = await send(t, { presence_penalty: 1, frequency_penalty: 0 }, { model: 'gemini-2.5-flash' })
  t.same([older.generationConfig, older.dropped], [undefined, ['presence_penalty']])
  t.match(await refusal({ n: 9 }), { details: { param: 'n' } })
})

t.test('reasoning effort for each model generation', async t => {
  const cases: [string, GeminiEffort, object | undefined, string[]][] = [
    ['gemini-3.5-flash', 'none', { thinkingLevel: 'MINIMAL' }, ['reasoning_effort']],
    ['gemini-3.5-flash', 'minimal', { thinkingLevel: 'MINIMAL', includeThoughts: true }, []],
    ['gemini-3.8-flash', 'minimal', { thinkingLevel: 'LOW', includeThoughts: true }, []],
    ['gemini-3.1-pro-preview', 'minimal', { thinkingLevel: 'LOW', includeThoughts: true }, []],
    ['gemini-3.1-pro-preview', 'medium', { thinkingLevel: 'MEDIUM', includeThoughts: true }, []],
    ['gemini-4-argon', 'max', { thinkingLevel: 'HIGH', includeThoughts: true }, []],
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }, []],
    ['gemini-2.5-flash', 'low', { thinkingBudget: 1024, includeThoughts: true }, []],
    ['gemini-2.5-pro', 'none', { thinkingBudget: 128 }, ['reasoning_effort']],
    ['gemini-2.5-pro', 'max', { thinkingBudget: 32_768, includeThoughts: true }, []],
    ['gemini-2.0-flash', 'none', undefined, []],
    ['gemini-2.0-flash', 'high', undefined, ['reasoning_effort']],
    ['gemma-3-27b-it', 'high', undefined, ['reasoning_effort']]
  ]
  for (const [model, effort, config, named] of cases) {
    const { generationConfig, dropped } = await send(t, { reasoning_effort: effort }, { model })
    t.same([generationConfig?.thinkingConfig, dropped], [config, named], `${model} ${effort}`)
  }
  const silent = await send(t, { reasoning_effort: 'low', ...{ include_reasoning: false } })
  t.same(silent.generationConfig?.thinkingConfig, { thinkingLevel: 'LOW', includeThoughts: false })
  const google = { extra_body: { google: { thinking_config: { thinking_level: 'high', include_thoughts: true } } } }
  t.same((await send(t, google)).generationConfig?.thinkingConfig, { thinkingLevel: 'HIGH', includeThoughts: true })
})

t.test('fields without an equivalent are dropped and reported, or refused', async t => {
  const { dropped } = await send(t, {
    user: 'u',
    store: true,
    metadata: { a: 'b' },
    logit_bias: { 1: 2 },
    parallel_tool_calls: false,
    prediction: { type: 'content', content: 'x' },
    service_tier: 'flex',
    verbosity: 'low',
    ...{ x_new: 1 }
  })
  t.same(dropped.toSorted(), [
    'logit_bias', 'metadata', 'parallel_tool_calls', 'prediction', 'service_tier', 'store', 'user', 'verbosity', 'x_new'
  ])
  const harmless = await send(t, {
    stream: true, store: false, service_tier: 'auto', parallel_tool_calls: true, metadata: null, modalities: ['text']
  })
  t.same(harmless.dropped, [])
  t.match(await refusal({ modalities: ['text', 'audio'] }), { details: { param: 'modalities' } })
})

t.test('images, audio and documents', async t => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n0000', 'latin1')
  const download: Download = async url => (async function * () {
    if (url.endsWith('gone.png') || !url.startsWith('https:')) throw new Error('refused')
    const other = Buffer.from(url.endsWith('.mp4') ? '0000ftypmp42' : '<html>')
    yield url.endsWith('.png') ? png.subarray(0, 5) : other
    if (url.endsWith('.png')) yield png.subarray(5)
    if (url.endsWith('large.png')) yield Buffer.alloc(21 * 2 ** 20)
  })()
  const image = (url: string) => ({ type: 'image_url' as const, image_url: { url, detail: 'low' as const } })
  const say = (...content: UserPart[]): Messages => [{ role: 'user', content }]
  const { contents } = await send(t, {
    messages: say(
      image('data:image/PNG;base64,iVBORw0K'),
      image('https://example.com/a.png'),
      image('gs://bucket/a.jpg'),
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
      { type: 'video_url', video_url: { url: 'https://www.youtube.com/watch?v=x' } },
      { type: 'video_url', video_url: { url: 'https://example.com/film.mp4' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0x' } },
      { type: 'file', file: { filename: 'a.csv', file_data: 'YSxi' } },
      { type: 'file', file: { file_data: 'data:text/plain;charset=utf-8,a%20%C3%BC' } }
    )
  }, { download })
  t.same(contents[0]?.parts, [
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } },
    { inlineData: { mimeType: 'image/png', data: png.toString('base64') } },
    { fileData: { fileUri: 'gs://bucket/a.jpg' } },
    { inlineData: { mimeType: 'audio/wav', data: 'UklGRg==' } },
    { fileData: { fileUri: 'https://www.youtube.com/watch?v=x' } },
    { inlineData: { mimeType: 'video/mp4', data: Buffer.from('0000ftypmp42').toString('base64') } },
    { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0x' } },
    { inlineData: { mimeType: 'text/csv', data: 'YSxi' } },
    { inlineData: { mimeType: 'text/plain', data: Buffer.from('a ü').toString('base64') } }
  ])
  const refused: [string, Messages][] = [
    ['invalid_image_url', say(image('https://example.com/gone.png'))],
    ['invalid_image_url', say(image('https://example.com/page.html'))],
    ['invalid_image_url', say(image('http://example.com/a.png'))],
    ['invalid_image_url', say(image('https://example.com/film.mp4'))],
    ['invalid_image_url', say(image('file:///etc/passwd'))],
    ['request_too_large', say(image('https://example.com/large.png'))],
    ['unsupported_parameter', say({ type: 'file', file: { file_id: 'file-123' } })]
  ]
  for (const [code, messages] of refused) {
    const error = await refusal({ messages }, { download })
    t.match(error, { kind: 'bad_request', sent: 'no', details: { code, param: /^messages\[0\]\.content\[0\]/ } }, code)
  }
  t.match(await refusal({ messages: say(image('https://example.com/a.png')) }), { details: { code: 'unsupported_parameter' } })
})
