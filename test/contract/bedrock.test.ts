import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { AwsOptions } from '../../schemas/config/providers.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import {
  apiKey, exception, noAws, refusal, reply, startBedrock, staticKeys, type BedrockReply
} from '../servers/bedrock.ts'
import { cuts, type Cut } from '../servers/upstream.ts'
import { anthropicAt, ask, priced } from './messages/clients.ts'

const claude = 'eu.anthropic.claude-sonnet-4-6'
const nova = 'amazon.nova-2-lite-v1:0'
const arn = 'arn:aws:bedrock:eu-central-1:123456789012:provisioned-model/abc123'

/** A gateway with `claude`, `nova` and a provisioned model, whose requests are signed by static keys. */
async function started (t: Test, aws: Partial<AwsOptions> = {}, key: string | null = null) {
  const server = await startBedrock()
  t.teardown(() => server.close())
  const signed = { ...noAws, ...staticKeys, ...aws }
  const provider = providerAt(new URL(server.url).origin, {
    protocol: 'bedrock', apiKey: key, region: 'eu-central-1', aws: key === null ? signed : null
  })
  const config = configFor(provider, { price: priced, maxOutput: 4000 })
  const [first] = config.models
  const models = [['claude', claude], ['nova', nova], ['provisioned', arn]].map(([id = '', model = '']) =>
    ({ ...first!, id, deployments: [{ provider: provider.id, model, weight: 1, priority: 0 }] }))
  const gateway = await startGateway(t, { config: { ...config, models } })
  const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const last = () => server.requests.at(-1)!
  return { server, gateway, openai, last, anthropic: anthropicAt(gateway) }
}

const pair = await started(t, { arns: { [arn]: 'anthropic.claude-sonnet-4-6' } })
const { server, openai, anthropic, gateway } = pair

type Params = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> & { model: string }

async function chatted (client: OpenAI, isStream: boolean, body: Params) {
  const params = { messages: [{ role: 'user' as const, content: 'Hi' }], ...body }
  if (!isStream) return await client.chat.completions.create(params)
  const options = { ...params, stream: true as const, stream_options: { include_usage: true } }
  return await client.chat.completions.stream(options).finalChatCompletion()
}

const cache = { cache_read_input_tokens: 20, cache_creation_input_tokens: 5 }
const usage = { input_tokens: 31, output_tokens: 17, ...cache }
const charge = 31 * 3000 + 17 * 15_000 + 20 * 300 + 5 * 3750

let seen = 0
async function booked (): Promise<number[]> {
  await gateway.app.ledger.flush()
  const rows = await gateway.app.store.all<{ amount: number }>(
    "select amount from entry where kind = 'usage' order by seq")
  const fresh = rows.slice(seen)
  seen = rows.length
  return fresh.map(({ amount }) => Number(amount))
}

const forms = { claude: ['invoke', 'invoke-with-response-stream'], nova: ['converse', 'converse-stream'] } as const

for (const model of ['claude', 'nova'] as const) {
  for (const stream of [false, true]) {
    t.test(`${model} talks ${stream ? 'in a stream' : 'whole'}, and is charged what it counts`, async t => {
      server.script(reply({ said: ['Grüße 👩‍👩‍👧‍👦 dort'], usage, cut: cuts.anywhere(7, 9) }))
      const response = await chatted(openai, stream, { model })
      t.match(response.choices[0], { message: { content: 'Grüße 👩‍👩‍👧‍👦 dort' }, finish_reason: 'stop' })
      t.match(response.usage, {
        prompt_tokens: 56, completion_tokens: 17, prompt_tokens_details: { cached_tokens: 20 }
      })
      t.equal((await booked()).at(-1), charge)
      const id = encodeURIComponent(model === 'claude' ? claude : nova)
      t.equal(pair.last().path, `/model/${id}/${forms[model][stream ? 1 : 0]}`)
      t.match(pair.last().headers.authorization, /Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request/)
    })

    t.test(`${model} calls tools and gets its thoughts back, ${stream ? 'streamed' : 'whole'}`, async t => {
      const parameters = { type: 'object', properties: { city: { type: 'string' } } }
      const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }]
      const called = { tool: 'weather', input: { city: 'Zürich' } }
      server.script(reply({ said: [{ thinking: 'Two questions.' }, 'I look.', called] }))
      const first = await chatted(openai, stream, { model, tools, reasoning_effort: 'low' })
      const message = first.choices[0]!.message
      t.equal(first.choices[0]?.finish_reason, 'tool_calls')
      const [call] = message.tool_calls ?? []
      t.match(call, { function: { name: 'weather', arguments: '{"city":"Zürich"}' } })
      // The SDK keeps the last piece of a field that it does not know.
      t.ok('Two questions.'.endsWith(Reflect.get(message, 'reasoning_content')))
      server.script(reply({ said: ['Fine.'] }))
      await chatted(openai, stream, {
        model,
        tools,
        messages: [{ role: 'user', content: 'Hi' }, message, { role: 'tool', tool_call_id: call!.id, content: 'sunny' }]
      })
      const { messages } = pair.last().body as { messages: { content: Record<string, unknown>[] }[] }
      const names = messages.map(({ content }) => content.map(block => block.type ?? Object.keys(block)[0]))
      t.same(names, model === 'claude'
        ? [['text'], ['thinking', 'text', 'tool_use'], ['tool_result']]
        : [['text'], ['text', 'toolUse'], ['toolResult']])
    })
  }
}

t.test('the fields of Converse are those of the request', async t => {
  const pdf = 'data:application/pdf;base64,JVBERi0xLjQK'
  const png = 'data:image/png;base64,iVBORw0KGgo='
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const marked = { type: 'text' as const, text: 'Be kind.', cache_control: { type: 'ephemeral' } }
  const response = await openai.chat.completions.create({
    model: 'nova',
    max_completion_tokens: 300,
    temperature: 1,
    top_p: 0.5,
    stop: ['END'],
    reasoning_effort: 'medium',
    tool_choice: 'required',
    tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
    messages: [
      { role: 'system', content: [marked] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Read.' }, { type: 'image_url', image_url: { url: png } },
          { type: 'file', file: { file_data: pdf, filename: 'My_report (1).pdf' } }
        ]
      }
    ]
  }).withResponse()
  t.match(pair.last().body, {
    system: [{ text: 'Be kind.' }, { cachePoint: { type: 'default' } }],
    messages: [{
      role: 'user',
      content: [
        { text: 'Read.' }, { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
        { document: { format: 'pdf', name: 'My report (1) 3', source: { bytes: 'JVBERi0xLjQK' } } }
      ]
    }],
    inferenceConfig: { maxTokens: 300, temperature: 1, topP: 0.5, stopSequences: ['END'] },
    toolConfig: { tools: [{ toolSpec: { name: 'weather', inputSchema: { json: schema } } }], toolChoice: { any: {} } },
    additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } }
  })
  t.equal(response.response.headers.get('x-tollgate-dropped-params'), null)
})

for (const stream of [false, true]) {
  t.test(`native messages go to Claude as they came, ${stream ? 'streamed' : 'whole'}`, async t => {
    server.script(reply({ said: [{ thinking: 'Hm.' }, 'Hello.'], usage, cut: cuts.everyByte }))
    const members = { max_tokens: 3000, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const others = { top_k: 5, metadata: { user_id: 'u-1' } }
    const message = await ask(anthropic, { model: 'provisioned', ...members, ...others }, stream)
    t.match(message, {
      content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text', text: 'Hello.' }], stop_reason: 'end_turn'
    })
    t.same(pair.last().body, { ...members, ...others, anthropic_version: 'bedrock-2023-05-31' })
    t.match(decodeURIComponent(pair.last().path), `/model/${arn}/invoke`)
    t.equal((await booked()).at(-1), charge)
  })

  t.test(`messages to another model are translated, ${stream ? 'streamed' : 'whole'}`, async t => {
    const request = { model: 'nova', max_tokens: 30, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const message = await ask(anthropic, request, stream)
    t.match(message, { content: [{ text: 'Hello there!' }], usage: { input_tokens: 25, output_tokens: 15 } })
    t.match(pair.last().path, /\/converse/)
  })
}

t.test('tokens are counted by Bedrock for Claude, and estimated for others', async t => {
  const body = { messages: [{ role: 'user' as const, content: 'Hi' }] }
  t.same(await anthropic.messages.countTokens({ model: 'claude', ...body }), { input_tokens: 25 })
  t.match(pair.last().path, /count-tokens$/)
  const { input_tokens: estimated } = await anthropic.messages.countTokens({ model: 'nova', ...body })
  t.ok(estimated < 25)
})

t.test('errors keep their kind, their retry hint and no secret', async t => {
  const cases: [number, string, string, object][] = [
    [429, 'ThrottlingException', 'Too many requests, please wait.', { status: 429 }],
    [429, 'ThrottlingException', 'Too many tokens per day', { status: 429 }],
    [400, 'ServiceQuotaExceededException', 'Your request exceeds the service quota.', { status: 429 }],
    [429, 'ModelNotReadyException', 'The model is not ready.', { status: 503 }],
    [403, 'AccessDeniedException', 'Not allowed.', { status: 502 }],
    [400, 'ValidationException', 'Input is too long for requested model.', { code: 'context_length_exceeded' }],
    [408, 'ModelTimeoutException', 'The model timed out.', { status: 504 }],
    [424, 'ModelErrorException', 'The model failed.', { status: 502 }]
  ]
  for (const [status, type, message, expected] of cases) {
    server.script(refusal(status, type, message, { 'retry-after': '7' }))
    const error = await chatted(openai, false, { model: 'nova' }).catch((error: unknown) => error)
    t.match(error, expected, type)
  }
})

for (const model of ['claude', 'nova'] as const) {
  t.test(`an exception in the stream of ${model} is an error in the client's stream`, async t => {
    server.script(reply({ said: ['One two three four'], failing: exception('modelStreamErrorException', 'The model broke.') }))
    const error = await chatted(openai, true, { model }).catch((error: unknown) => error)
    t.match(error, { code: 'upstream_bad_reply' })
    server.script(reply({ failing: exception('throttlingException', 'Slow down.'), said: [{ text: [] }] } as BedrockReply))
    await chatted(openai, true, { model }).catch(() => {})
    await booked()
  })

  t.test(`a stream of ${model} that ends early, or has a wrong checksum, is broken`, async t => {
    server.script(reply({ said: ['One two three four'], cut: pieces => pieces.slice(0, -1) }))
    t.match(await chatted(openai, true, { model }).catch((error: unknown) => error), { code: 'upstream_bad_reply' })
    const changed = (piece: Buffer) => Buffer.from(piece.map((byte, place) => place === 40 ? byte ^ 1 : byte))
    const cut: Cut = pieces => pieces.map((piece, at) => at < 4 ? piece : changed(piece))
    server.script(reply({ said: ['One two three four'], cut }))
    t.match(await chatted(openai, true, { model }).catch((error: unknown) => error), { code: 'upstream_bad_reply' })
    await booked()
  })
}

t.test('a guardrail is named in every chat, and its stop is content_filter', async t => {
  const { server, openai, last } = await started(t, { guardrail: 'gr-1', guardrailVersion: '3' })
  for (const model of ['claude', 'nova']) {
    for (const stream of [false, true]) {
      server.script(reply({ said: ['Blocked.'], converseStop: 'guardrail_intervened' }))
      const response = await chatted(openai, stream, { model })
      t.match(response.choices[0], { finish_reason: 'content_filter', message: { content: 'Blocked.' } })
      t.match(last().body, { guardrailConfig: { guardrailIdentifier: 'gr-1', guardrailVersion: '3' } })
    }
  }
})

t.test('a key of Bedrock is a bearer token; the models of the region are listed', async t => {
  const { openai, last, gateway } = await started(t, {}, apiKey)
  await chatted(openai, false, { model: 'claude' })
  t.equal(last().headers.authorization, `Bearer ${apiKey}`)
  t.equal(last().headers['x-api-key'], undefined)
  const models = await gateway.app.providers.get('up')?.models?.(new AbortController().signal)
  t.same(models, ['amazon.nova-lite-v1:0', 'amazon.nova-canvas-v1:0', 'eu.anthropic.claude-sonnet-4-6'])
})
