import { NodeHttpHandler } from '@smithy/node-http-handler'
import OpenAI from 'openai'
import t from 'tap'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { fetchPackages } from '../helpers/fetched.ts'
import { noAws, reply, startBedrock, staticKeys } from '../servers/bedrock.ts'
import { anthropicAt } from '../contract/messages/clients.ts'

// AWS's and Anthropic's clients judge the mock, and the requests of the gateway: what they do not know of a
// request, they leave out when they send it again.

interface Sdk {
  BedrockRuntimeClient: new (options: object) => { send (command: object): Promise<Record<string, unknown>> }
  ConverseCommand: new (input: object) => object
  ConverseStreamCommand: new (input: object) => object
}
interface AnthropicSdk {
  AnthropicBedrock: new (options: object) => { messages: { create (body: object): Promise<unknown> } }
}

const load = await fetchPackages(
  'bedrock', '@aws-sdk/client-bedrock-runtime@3.1164.0', '@anthropic-ai/bedrock-sdk@1.1.3', '@anthropic-ai/sdk')

if (load === null) t.comment('the clients of AWS are not installed')
else await judge(await load('@aws-sdk/client-bedrock-runtime') as Sdk, await load('@anthropic-ai/bedrock-sdk') as AnthropicSdk)

async function judge (aws: Sdk, anthropic: AnthropicSdk): Promise<void> {
  const server = await startBedrock()
  t.teardown(() => server.close())
  const endpoint = new URL(server.url).origin
  const region = 'eu-central-1'
  // By default it speaks HTTP/2.
  const requestHandler = new NodeHttpHandler()
  const client = new aws.BedrockRuntimeClient({
    endpoint, region, credentials: staticKeys, maxAttempts: 1, requestHandler
  })
  const provider = providerAt(endpoint, {
    protocol: 'bedrock', apiKey: null, region, aws: { ...noAws, ...staticKeys }
  })
  const config = configFor(provider)
  const models = ['amazon.nova-2-lite-v1:0', 'anthropic.claude-sonnet-4-6'].map(model => ({
    ...config.models[0]!, id: model, deployments: [{ provider: 'up', model, weight: 1, priority: 0 }]
  }))
  const gateway = await startGateway(t, { config: { ...config, models } })
  const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const last = () => server.requests.at(-1)!

  t.test('AWS\'s client reads the answers of the mock, whole and streamed, signed by itself', async t => {
    const input = { modelId: 'amazon.nova-lite-v1:0', messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }
    const whole = await client.send(new aws.ConverseCommand(input))
    t.match(whole, { output: { message: { content: [{ text: 'Hello there!' }] } }, stopReason: 'end_turn' })
    server.script(reply({ said: [{ thinking: 'Hm.' }, 'Hello.', { tool: 'weather', input: { city: 'Bern' } }] }))
    const { stream } = await client.send(new aws.ConverseStreamCommand(input))
    const events = await Array.fromAsync(stream as AsyncIterable<object>)
    const names = events.flatMap(event => Object.keys(event))
    t.same([names[0], ...names.slice(-2)], ['messageStart', 'messageStop', 'metadata'])
    t.same(server.refused, [])
  })

  t.test('AWS\'s client sends each body of Converse again as the gateway has sent it', async t => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const marked = { type: 'text' as const, text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } }
    const call = { id: 'call_1', type: 'function' as const, function: { name: 'weather', arguments: '{"city":"Bern"}' } }
    await openai.chat.completions.create({
      model: 'amazon.nova-2-lite-v1:0',
      max_completion_tokens: 300,
      temperature: 0.3,
      stop: ['END'],
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: { name: 'weather', description: 'The weather.', parameters: schema } }],
      messages: [
        { role: 'system', content: [marked] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Read.' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0xLjQK', filename: 'a.pdf' } }
          ]
        },
        { role: 'assistant', content: 'I look.', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' }
      ]
    })
    const { body, path } = last()
    await client.send(new aws.ConverseCommand({ modelId: 'amazon.nova-2-lite-v1:0', ...Object(withBytes(body)) }))
    t.same(last().body, body)
    t.equal(last().path, path)
  })

  t.test('Anthropic\'s client for Bedrock sends the same body and path as the gateway', async t => {
    const message = {
      model: 'anthropic.claude-sonnet-4-6',
      max_tokens: 300,
      top_k: 5,
      system: 'Be kind.',
      messages: [{ role: 'user' as const, content: 'Hi' }]
    }
    const { accessKeyId: awsAccessKey, secretAccessKey: awsSecretKey } = staticKeys
    const theirs = new anthropic.AnthropicBedrock({
      awsAccessKey, awsSecretKey, awsRegion: region, baseURL: endpoint, maxRetries: 0
    })
    for (const stream of [false, true]) {
      const heard = await theirs.messages.create({ ...message, anthropic_version: 'bedrock-2023-05-31', stream })
      if (stream) await Array.fromAsync(heard as AsyncIterable<object>)
      const wanted = last()
      const ours = await anthropicAt(gateway).messages.create({ ...message, stream })
      if (stream) await Array.fromAsync(ours as AsyncIterable<object>)
      t.same(last().body, wanted.body)
      t.equal(decodeURIComponent(last().path), decodeURIComponent(wanted.path))
    }
  })
}

/** The input of a command: bytes are not text there. */
function withBytes (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) =>
    [name, name === 'bytes' ? Buffer.from(String(member), 'base64') : withBytes(member)]))
}
