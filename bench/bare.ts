import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import type { Dispatcher } from 'undici'

// The reference of the benchmark: a relay that passes on all headers and bytes unread, with back-pressure and
// aborts.

const { UPSTREAM_URL = '', PORT = '0' } = process.env
const pool = new Pool(new URL(UPSTREAM_URL).origin)

const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const body: Buffer[] = []
  request.on('data', (piece) => body.push(piece))
  request.on('end', () => relay(request, Buffer.concat(body), response))
})
server.listen(Number(PORT), '127.0.0.1')
await once(server, 'listening')
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)

function relay ({ method, url = '/' }: IncomingMessage, body: Buffer, response: ServerResponse) {
  const options: Dispatcher.DispatchOptions = {
    method: method === 'POST' ? 'POST' : 'GET',
    path: url,
    headers: ['content-type', 'application/json', 'authorization', 'Bearer bare'],
    body
  }
  pool.dispatch(options, {
    onRequestStart (controller) {
      response.once('close', () => {
        if (!response.writableFinished) controller.abort(new Error('the client disconnected'))
      })
    },
    onResponseStart (_controller, status, headers) {
      response.writeHead(status, headers)
    },
    onResponseData (controller, chunk) {
      if (response.write(chunk)) return
      controller.pause()
      response.once('drain', () => controller.resume())
    },
    onResponseEnd () {
      response.end()
    },
    onResponseError () {
      response.destroy()
    }
  })
}
