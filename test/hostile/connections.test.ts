import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { freePort } from '../helpers/free-port.ts'
import { startGateway } from '../helpers/gateway.ts'

t.test('beyond so many connections a further one is closed, on both addresses', async t => {
  const port = await freePort()
  const { app, url, headers } = await startGateway(t, {
    env: { TOLLGATE_MAX_CONNECTIONS: '2', ALT_HOST: '127.0.0.1', ALT_PORT: String(port) }
  })
  await app.listenOnSecondAddress?.()
  for (const [place, at] of [['the first address', Number(new URL(url).port)], ['the second address', port]] as const) {
    const open = [connect(at, '127.0.0.1'), connect(at, '127.0.0.1')]
    await Promise.all(open.map(socket => once(socket, 'connect')))
    const further = connect(at, '127.0.0.1').on('error', () => {}).resume()
    await once(further, 'close')
    const [one] = open
    one?.write(`GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers['authorization']}\r\n\r\n`)
    const [head] = one === undefined ? [''] : await once(one, 'data')
    t.match(String(head), /^HTTP\/1.1 200 /, place)
    for (const socket of open) socket.destroy()
  }
})
