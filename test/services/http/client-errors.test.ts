import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { clientErrorHandler } from '../../../services/http/client-errors.ts'

const errorOf = (code: string): Error => Object.assign(new Error(code), { code })

t.test('a request that comes too slowly is told so', async t => {
  const socket = new PassThrough()
  clientErrorHandler(errorOf('ERR_HTTP_REQUEST_TIMEOUT'), socket)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  t.match(head, /^HTTP\/1.1 408 Request Timeout\r\n.*content-length: \d+\r\nconnection: close$/s)
  t.strictSame(JSON.parse(body).error, {
    message: 'The request did not arrive in time.', type: 'invalid_request_error', param: null, code: 'request_timeout'
  })
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
