import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import t from 'tap'
import { openPage, skip } from '../helpers/chromium.ts'
import { startGateway } from '../helpers/gateway.ts'

const modules = join(import.meta.dirname, '..', '..', 'node_modules')

/** An app on an origin of its own, which loads openai-node as a module. */
async function startApp (t: { teardown (work: () => unknown): void }): Promise<string> {
  const server = createServer((request, response) => {
    const path = normalize(request.url ?? '/')
    if (path === '/') return response.setHeader('content-type', 'text/html').end('<title>app</title>')
    readFile(join(modules, path)).then(
      bytes => response.setHeader('content-type', 'text/javascript').end(bytes),
      () => response.writeHead(404).end())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs in the page: a whole answer, a stream, a header of the answer, and an error. */
const program = (baseURL: string, apiKey: string): string => `(async () => {
  const { OpenAI } = await import('/openai/index.mjs')
  const client = new OpenAI({ ...${JSON.stringify({ baseURL, apiKey })}, dangerouslyAllowBrowser: true, maxRetries: 0 })
  const messages = [{ role: 'user', content: 'Say: "hello"' }]
  const { data, response } = await client.chat.completions.create({ model: 'sandbox-chat', messages }).withResponse()
  let streamed = ''
  for await (const { choices: [choice] } of await client.chat.completions.create({ model: 'sandbox-chat', messages, stream: true })) {
    streamed += choice?.delta.content ?? ''
  }
  const failure = await client.chat.completions.create({ model: 'none', messages }).catch(error => error)
  return {
    text: data.choices[0].message.content,
    streamed,
    model: response.headers.get('x-tollgate-model'),
    failure: [failure.status, failure.code]
  }
})()`

t.test('a page of a listed origin uses openai-node, a page of another origin does not', { skip }, async t => {
  const [app, other] = [await startApp(t), await startApp(t)]
  const { url, key } = await startGateway(t, { env: { TOLLGATE_CORS_ORIGINS: app } })
  const page = await openPage(t)
  await page.goto(app)
  t.same(await page.evaluate(program(url, key)), {
    text: 'hello', streamed: 'hello', model: 'sandbox-chat', failure: [404, 'model_not_found']
  })
  await page.goto(other)
  await t.rejects(page.evaluate(program(url, key)), /Connection error/)
})
