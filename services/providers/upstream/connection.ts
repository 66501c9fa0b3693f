import { Pool } from 'undici'
import type { TimeoutsMs } from '../../config/catalogue/types.ts'
import type { Deadlines } from '../../shared/timers.ts'
import { UpstreamCall } from './call.ts'
import { Decoding } from './decoder.ts'
import type { Authorize, Connection } from './response.ts'

interface ConnectionOptions {
  baseUrl: string
  timeouts: TimeoutsMs
  maxConnections: number
  deadlines: Deadlines
  /** Absent: requests have their headers alone. */
  authorize?: Authorize | undefined
}

/** Opens a keep-alive pool to one upstream. It follows no redirects, so that no key leaves its origin. */
export function createConnection (
  { baseUrl, timeouts, maxConnections, deadlines, authorize }: ConnectionOptions
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
    async send ({ path: end, awaits, ...request }) {
      const path = prefix + end + url.search
      const { method, body, signal } = request
      const further = await authorize?.({ ...request, url: new URL(url.origin + path) })
      const headers = { ...request.headers, ...further }
      const call = new UpstreamCall(deadlines, timeouts, { url: url.origin + prefix + end, signal, awaits })
      pool.dispatch({ method, path, headers, body: body ?? null }, new Decoding(call))
      return await call.head
    },
    close: () => pool.close()
  }
}
