import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chunks, completion, headers } from './answers.ts'

// The provider of the benchmark: answers from prepared buffers, at once or in paced chunks.

const chunkIntervalMs = 10
const streamed = Buffer.from('"stream":true')
const jsonHeaders = [...headers, 'content-type', 'application/json', 'content-length', String(completion.length)]
const streamHeaders = [...headers, 'content-type', 'text/event-stream; charset=utf-8']

const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const body: Buffer[] = []
  request.on('data', (piece) => body.push(piece))
  request.on('end', () => {
    if (Buffer.concat(body).includes(streamed)) stream(response)
    else response.writeHead(200, jsonHeaders).end(completion)
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)

function stream (response: ServerResponse) {
  response.writeHead(200, streamHeaders)
  let sent = 0
  const timer = setInterval(() => {
    response.write(chunks[sent++])
    if (sent === chunks.length) response.end()
  }, chunkIntervalMs)
  response.once('close', () => clearInterval(timer))
}
