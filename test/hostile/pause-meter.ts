import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// Loaded before a gateway: measures how much processor time one turn of its event loop takes. Wall-clock time
// would include other processes.

const everyMs = 2
let longestMs = 0
let before = process.threadCpuUsage()

function look (): void {
  const usage = process.threadCpuUsage(before)
  before = process.threadCpuUsage()
  longestMs = Math.max(longestMs, (usage.user + usage.system) / 1000)
}

setInterval(look, everyMs).unref()

/** Answers with the longest turn in ms since the last request, and the memory in bytes. */
const server = createServer((request, response) => {
  look()
  if (request.url === '/collect') globalThis.gc?.()
  response.end(JSON.stringify({ longestMs, memory: process.memoryUsage() }))
  longestMs = 0
  before = process.threadCpuUsage()
})
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`pause meter ${(server.address() as AddressInfo).port}\n`)
}).unref()
