import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { clientErrorHandler } from '../../../services/http/client-errors.ts'

const errorOf = (code: string): Error => Object.assign(new Error(code), { code })

/** A server that answers nothing but what is not HTTP, and a client of it. */
async function connected (
  t: Test, options: { requestTimeout?: number } = {}
): Promise<{ server: Server, client: Socket }> {
  const server = createServer({ ...options, connectionsCheckingInterval: 20 }, () => {}).on('clientError', clientErrorHandler)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    client.destroy()
    server.close()
  })
  return { server, client }
}

t.test('a request that comes too slowly is told so', async t => {
  const { client } = await connected(t, { requestTimeout: 50 })
  client.write('POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 5\r\n\r\n')
  const [head = '', body = ''] = (await text(client)).split('\r\n\r\n')
  t.match(head, /^HTTP\/1.1 408 Request Timeout\r\n.*content-length: \d+\r\nconnection: close$/s)
  t.strictSame(JSON.parse(body).error, {
    message: 'The request did not arrive in time.', type: 'invalid_request_error', param: null, code: 'request_timeout'
  })
})

t.test('a client that still sends its body gets the answer', async t => {
  const { server, client } = await connected(t)
  const body = Buffer.alloc(8_000_000, 'x')
  client.write(`POST / HTTP/1.1\r\nhost: here\r\n: -\r\ncontent-length: ${body.length}\r\n\r\n`)
  const sent = new Promise(resolve => client.write(body, resolve))
  const [answer] = await once(client, 'data')
  t.match(String(answer), /^HTTP\/1.1 400 Bad Request\r\n/)
  t.notOk(await sent, 'all of it was read')
  client.end()
  await once(server.close(), 'close')
})

t.test('a connection that is gone is only let go', async t => {
  const reset = new PassThrough()
  clientErrorHandler(errorOf('ECONNRESET'), reset)
  t.ok(reset.destroyed)
  t.equal(reset.read(), null)

  const ended = new PassThrough().end()
  clientErrorHandler(errorOf('HPE_INVALID_METHOD'), ended)
  t.ok(ended.destroyed)
})
