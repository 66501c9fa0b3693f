import { Pool } from 'undici'
import type { TimeoutsMs } from '../../config/catalogue/types.ts'
import type { Deadlines } from '../../shared/timers.ts'
import { UpstreamCall } from './call.ts'
import { Decoding } from './decoder.ts'
import type { Authorize, Connection, UpstreamRequest } from './response.ts'

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

  async function dispatch (request: UpstreamRequest) {
    const { method, body, signal, awaits } = request
    const address = url.origin + prefix + request.path
    const path = prefix + request.path + url.search
    const further = await authorize?.({ ...request, url: new URL(url.origin + path) }) ?? {}
    const call = new UpstreamCall(deadlines, timeouts, { url: address, signal, awaits })
    const headers = { ...request.headers, ...further }
    pool.dispatch({ method, path, headers, body: body ?? null }, new Decoding(call))
    return { response: await call.head, further }
  }

  return {
    async send (request) {
      const { response, further } = await dispatch(request)
      if (response.status !== 401 || authorize?.refused?.(further) !== true) return response
      response.cancel()
      return (await dispatch(request)).response
    },
    close: () => pool.close()
  }
}
