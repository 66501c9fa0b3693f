import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import t from 'tap'
import { startGateway } from '../../helpers/gateway.ts'

t.test('a gateway that is about to stop answers on open connections, and closes them', async t => {
  const { app, url } = await startGateway(t, { env: { TOLLGATE_DRAIN_DELAY_SECONDS: '5' } })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const ask = async (path: string): Promise<{ status?: number, connection?: string }> => {
    const [response] = await once(get(new URL(path, url), { agent }), 'response') as [IncomingMessage]
    await response.resume().toArray()
    return { status: response.statusCode, connection: response.headers.connection }
  }
  t.same(await ask('/openapi.json'), { status: 200, connection: 'keep-alive' })
  t.same(await ask('/v1/models'), { status: 401, connection: 'keep-alive' })
  // Resolves after the delay.
  app.leave().catch(() => {})
  t.same(await ask('/openapi.json'), { status: 200, connection: 'close' })
  t.same(await ask('/v1/models'), { status: 401, connection: 'close' })
})
