import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// The least that holding a request open can cost: Node's own server, which reads the body and answers never.

const server = createServer((incoming, response) => {
  incoming.resume()
  response.on('close', () => {})
})
server.requestTimeout = 0
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
})
