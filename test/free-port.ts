import { once } from 'node:events'
import { createServer } from 'node:net'

/** Where no system takes the ports that it gives out by itself, which would be gone before they are used. */
const [lowest, highest] = [20_000, 32_000]

/** A port of 127.0.0.1 that nobody listens on. */
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
