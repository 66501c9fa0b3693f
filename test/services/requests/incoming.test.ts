import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { abortOnDisconnect, startDeadline } from '../../../services/requests/incoming.ts'
import type { GatewayError } from '../../../services/shared/errors.ts'

t.test('a request that takes too long is given up with 504', async t => {
  const given = Promise.withResolvers<GatewayError>()
  const startedMs = performance.now()
  const { dueMs } = startDeadline({ giveUp: given.resolve }, 20)
  t.ok(dueMs >= startedMs + 20 && dueMs < startedMs + 1000)
  t.match(await given.promise, { status: 504, code: 'deadline_exceeded', message: /20 ms/ })
})

t.test('a deadline that was stopped gives nothing up', async t => {
  const deadline = startDeadline({ giveUp: () => t.fail('it was given up') }, 5)
  deadline.stop()
  await new Promise(resolve => setTimeout(resolve, 20))
})

/** One request over a socket: its response at the server, and what watches it. */
async function serve (t: Test) {
  const running = new Set<AbortController>()
  const served = Promise.withResolvers<{ response: ServerResponse, controller: AbortController }>()
  const server = createServer((_request, response) => {
    served.resolve({ response, controller: abortOnDisconnect(response, running) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = request({ port, host: '127.0.0.1' }, answer => answer.resume())
  client.on('error', () => {})
  client.end()
  return { ...await served.promise, running, client }
}

t.test('a client that disconnects before its response is complete aborts the request', async t => {
  const { response, controller, running, client } = await serve(t)
  t.same([...running], [controller])
  response.write('half')
  client.destroy()
  await once(response, 'close')
  t.ok(controller.signal.aborted)
  t.equal(running.size, 0)
})

t.test('a complete response aborts nothing', async t => {
  const { response, controller, running } = await serve(t)
  response.end('whole')
  await once(response, 'close')
  t.notOk(controller.signal.aborted)
  t.equal(running.size, 0)
})
