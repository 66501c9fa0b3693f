import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { respondThenDrain } from '../../../../services/http/graceful-close/drain.ts'
import { watchFreshConnections } from '../../../../services/http/graceful-close/fresh-connections.ts'
import { stopListening } from '../../../../services/http/graceful-close/stop-listening.ts'

t.test('the answer is there at once and ends when the upload has ended', async t => {
  const upload = new PassThrough()
  const answer = respondThenDrain('No.', upload)
  t.equal(String((await once(answer, 'data'))[0]), 'No.')
  t.notOk(answer.readableEnded)
  upload.end(Buffer.alloc(1024 * 1024))
  await once(answer, 'end')
  t.ok(upload.readableEnded, 'nothing of the upload is left')
})

t.test('an upload that does not end is given up', async t => {
  const endless = Readable.from((function * () { while (true) yield Buffer.alloc(1024) })())
  t.equal(await text(respondThenDrain('No.', endless, { maxBytes: 10_000, maxMs: 60_000 })), 'No.')

  const silent = new PassThrough()
  t.equal(await text(respondThenDrain('No.', silent, { maxBytes: 10_000, maxMs: 20 })), 'No.')
  t.ok(silent.destroyed)
})

t.test('a client that goes away in the middle is no failure', async () => {
  const upload = new PassThrough()
  const answer = respondThenDrain('No.', upload)
  await once(answer, 'data')
  upload.destroy(new Error('aborted'))
  await once(answer, 'end')
})

t.test('a listener that closes loses nobody who waits to be accepted', async t => {
  const server = createServer((_request, response) => response.end('here'))
  const hasFresh = watchFreshConnections(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const answers = Array.from({ length: 20 }, async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write('GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n')
    return await text(socket)
  })
  // They have been answered by the system, and this process has not looked yet.
  await new Promise<void>(resolve => process.nextTick(resolve))
  await stopListening(server)
  t.notOk(hasFresh(), 'nor a connection that has brought nothing yet')
  server.close()
  for (const answer of await Promise.all(answers)) t.match(answer, /here/)
  const late = connect(port, '127.0.0.1')
  await t.rejects(once(late, 'connect'), { code: 'ECONNREFUSED' })
})
