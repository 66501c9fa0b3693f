import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { reply, startUpstream, type Script } from '../../servers/upstream.ts'

// A base URL that leads nowhere is a mistake of the operator's: no model is missing, and nothing rests.

const answers: Record<string, [string, string]> = {
  'OpenAI without /v1': ['application/json', '{"error":{"message":"Invalid URL (POST /chat/completions)","type":"invalid_request_error","param":null,"code":null}}'],
  FastAPI: ['application/json', '{"detail":"Not Found"}'],
  Go: ['text/plain', '404 page not found'],
  nginx: ['text/html', '<html><head><title>404 Not Found</title></head></html>'],
  'llama.cpp': ['application/json', '{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}'],
  Kong: ['application/json', '{"message":"no Route matched with those values"}'],
  nothing: ['text/plain', '']
}

const missing = ([type, body]: [string, string]): Script => ({ response }) => {
  response.writeHead(404, { 'content-type': type }).end(body)
}

async function start (t: Test) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const config = configFor(providerAt(`${upstream.url}/api`))
  const breaker = { ...config.breaker, failures: 1, minRequests: 1 }
  const gateway = await startGateway(t, { config: { ...config, breaker } })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  return { upstream, gateway, client }
}

const chat = async (client: OpenAI) =>
  await client.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }] })

for (const [server, answer] of Object.entries(answers)) {
  t.test(`the 404 of ${server} is about the address`, async t => {
    const { upstream, gateway, client } = await start(t)
    upstream.always(missing(answer))
    for (let call = 0; call < 3; call++) {
      await t.rejects(chat(client), { status: 502, code: 'upstream_address', message: /address that does not exist \(HTTP 404\)/ })
    }
    const url = `${upstream.url}/api/chat/completions`
    t.match(await gateway.line(({ msg }) => msg === 'a call of a provider failed'), { missingUrl: url })
    upstream.always(reply())
    t.match(await chat(client), { object: 'chat.completion' }, 'nothing rests')
  })
}

t.test('a 404 about the model stays one', async t => {
  const { upstream, client } = await start(t)
  upstream.always(missing(['application/json', '{"error":{"message":"model \\"x\\" not found, try pulling it first"}}']))
  await t.rejects(chat(client), { status: 404, code: 'model_not_found' })
})
