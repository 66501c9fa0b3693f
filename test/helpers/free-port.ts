import { once } from 'node:events'
import { createServer } from 'node:net'

/** Outside the ephemeral ports of every system, which might be taken before they are used. */
const [lowest, highest] = [20_000, 32_000]

/** Returns a free port of 127.0.0.1. */
export async function freePort (): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest))
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
