import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// The reference of the long polls: a Node.js server that reads the body and never answers.

const server = createServer((exchange, response) => {
  exchange.resume()
  response.on('close', () => {})
})
server.requestTimeout = 0
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
})
