import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { discoverLocal } from '../../../../services/config/environment/discover-local.ts'
import { runningMs } from '../../../helpers/running-time.ts'

/** A server at a free port; returns it as a candidate. */
async function serve (t: Test, id: string, listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { id, dialect: 'ollama', baseUrl: `http://127.0.0.1:${port}/v1` }
}

const answer = (body: string, status = 200): RequestListener => (_, response) => {
  response.writeHead(status).end(body)
}

t.test('a server that lists models is found', async (t) => {
  const some = await serve(t, 'some', (request, response) => {
    t.equal(request.url, '/v1/models')
    response.end('{"object":"list","data":[{"id":"llama3"}]}')
  })
  const none = await serve(t, 'none', answer('{"data":null}'))
  t.match(await discoverLocal({ candidates: [some, none] }), [
    { id: 'some', dialect: 'ollama', protocol: 'openai', baseUrl: some.baseUrl, apiKey: null, discover: true },
    { id: 'none', discover: true }
  ])
})

t.test('anything else is ignored', async (t) => {
  const candidates = [
    await serve(t, 'html', answer('<html>')),
    await serve(t, 'shape', answer('{"models":[]}')),
    await serve(t, 'error', answer('{"data":[]}', 500)),
    await serve(t, 'huge', answer(`{"data":[{"id":"${'x'.repeat(1024 * 1024)}"}]}`)),
    await serve(t, 'reset', (request) => request.socket.destroy()),
    await serve(t, 'moved', (_, response) => response.writeHead(302, { location: '/v1/models' }).end()),
    { id: 'closed', dialect: 'ollama', baseUrl: 'http://127.0.0.1:1/v1' },
    { id: 'broken', dialect: 'ollama', baseUrl: 'not a URL' }
  ]
  t.same(await discoverLocal({ candidates, timeoutMs: 30_000 }), [])
})

t.test('a server that does not answer in time is ignored and does not delay the others', async (t) => {
  const silent = await serve(t, 'silent', () => {})
  const slow = await serve(t, 'slow', (_, response) => response.write('{"data":['))
  const quick = await serve(t, 'quick', answer('{"data":[]}'))
  const startMs = runningMs()
  const found = await discoverLocal({ candidates: [silent, slow, quick], timeoutMs: 2_000 })
  t.same(found.map(({ id }) => id), ['quick'])
  t.ok(runningMs() - startMs < 3_500)
})
