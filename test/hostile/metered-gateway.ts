import { join } from 'node:path'
import { addressOf, spawnGateway, type GatewayProcess } from '../helpers/process.ts'

interface Teardown { teardown (work: () => unknown): void }

interface Reading { longestMs: number, memory: NodeJS.MemoryUsage }

/** A gateway in its own process whose event loop is watched. */
export interface MeteredGateway {
  process: GatewayProcess
  /** Its base URL, without `/v1`. */
  url: string
  headers: Record<string, string>
  /** Posts with the first key. */
  send (path: string, body: string): Promise<Response>
  /** The longest turn of its event loop in ms since the last reading, and its memory. */
  read (collect?: boolean): Promise<Reading>
}

/** Starts a gateway as a user does, with `heapMb` of heap if given. */
export async function startMetered (
  t: Teardown, { env = {}, heapMb }: { env?: Record<string, string>, heapMb?: number } = {}
): Promise<MeteredGateway> {
  const options = heapMb === undefined ? '--expose-gc' : `--expose-gc --max-old-space-size=${heapMb}`
  const gateway = await spawnGateway(t, { ...env }, {
    preload: join(import.meta.dirname, 'pause-meter.ts'), nodeOptions: options.split(' ')
  })
  const [, port = ''] = await gateway.printed(/pause meter (\d+)/)
  const { url, key } = await addressOf(gateway)
  const origin = new URL(url).origin
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return {
    process: gateway,
    url: origin,
    headers,
    send: async (path, body) => await fetch(`${origin}${path}`, { method: 'POST', headers, body }),
    async read (collect = false) {
      const answer = await fetch(`http://127.0.0.1:${port}${collect ? '/collect' : '/'}`)
      return await answer.json() as Reading
    }
  }
}
