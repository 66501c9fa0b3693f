import { Pool } from 'undici'
import type { TimeoutsMs } from '../../config/catalogue/types.ts'
import type { Deadlines } from '../../shared/timers.ts'
import { UpstreamCall } from './call.ts'
import { Decoding } from './decoder.ts'
import type { Connection } from './response.ts'

interface ConnectionOptions {
  baseUrl: string
  timeouts: TimeoutsMs
  maxConnections: number
  deadlines: Deadlines
}

/** Opens a keep-alive pool to one upstream. It follows no redirects, so that no key leaves its origin. */
export function createConnection (
  { baseUrl, timeouts, maxConnections, deadlines }: ConnectionOptions
): Connection {
  const url = new URL(baseUrl)
  const prefix = url.pathname.replace(/\/$/, '')
  const pool = new Pool(url.origin, {
    connections: maxConnections,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: 0,
    bodyTimeout: 0
  })
  return {
    send ({ method, path, headers, body, signal, awaits }) {
      const call = new UpstreamCall(deadlines, timeouts, { url: url.origin + prefix + path, signal, awaits })
      const options = { method, path: prefix + path + url.search, headers, body: body ?? null }
      pool.dispatch(options, new Decoding(call))
      return call.head
    },
    close: () => pool.close()
  }
}
