import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import live from '../../../routes/admin/live.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { until } from '../../helpers/until.ts'

t.test('a client that leaves while its right is checked takes no place', async t => {
  const app = Fastify()
  const none = { all: 0, failed: 0, count: 0 }
  const stubs = {
    store: {
      clock: Date.now, engine: 'sqlite', get: async () => none, all: async () => [], reports: { all: async () => [] }
    },
    nodeCounts: async () => ({ requests: 0, streams: 0, polls: 0, bytes: 0 }),
    models: { config: () => ({ providers: [], models: [] }) },
    deployments: { list: () => [] },
    isDraining: () => false
  }
  for (const [name, stub] of Object.entries(stubs)) app.decorate(name, stub as never)
  app.setErrorHandler(async (error, _request, reply) => {
    await reply.code(error instanceof GatewayError ? error.status : 500).send(String(error))
  })
  app.addHook('onRequest', async request => {
    if (!request.url.endsWith('leaves')) return
    request.raw.socket.destroy()
    await once(request.raw.socket, 'close')
  })
  await app.register(live, { everyMs: 5, maxClients: 1 })
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const leaving = connect(port, '127.0.0.1')
  leaving.write('GET /live?leaves HTTP/1.1\r\nHost: localhost\r\n\r\n')
  leaving.resume()
  await once(leaving, 'close')
  const watch = async (): Promise<Response> => await fetch(`http://127.0.0.1:${port}/live`)
  let answer = await watch()
  await until(async () => {
    answer = await watch()
    return answer.status !== 503
  })
  t.equal(answer.status, 200)
  const other = await watch()
  t.equal(other.status, 503, await other.text())
  await answer.body?.cancel()
})
