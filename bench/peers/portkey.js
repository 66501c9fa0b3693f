import { once } from 'node:events'
import { createServer } from 'node:net'

// Portkey's gateway without its console. Runs in a folder in which its package is installed.

const probe = createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address()
probe.close()
await once(probe, 'close')
process.argv.push(`--port=${port}`, '--headless')
await import('@portkey-ai/gateway/build/start-server.js')
console.log(`http://127.0.0.1:${port}/v1`)
