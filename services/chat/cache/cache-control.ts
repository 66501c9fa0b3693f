import { GatewayError } from '../../shared/errors.ts'
import type { CacheWish } from '../../requests/incoming.ts'

/** The header by which a client says whether it wants the cache; see `readCacheWish`. */
export const cacheHeader = 'x-tollgate-cache'
const maxSeconds = 7 * 86_400

/**
 * Reads directives like those of `Cache-Control`: `on`, `max-age=<seconds>`, `no-cache` (a new answer, which
 * is kept) and `no-store` (nothing of both). Null without the header. Throws GatewayError 400.
 */
export function readCacheWish (value: string | string[] | undefined): CacheWish | null {
  if (value === undefined) return null
  const wish: CacheWish = { read: true, store: true, maxAgeMs: null }
  for (const directive of String(value).toLowerCase().split(',').map(text => text.trim())) {
    const [, digits] = /^max-age=(\d{1,6})$/.exec(directive) ?? []
    if (directive === 'no-store') wish.read = wish.store = false
    else if (directive === 'no-cache') wish.read = false
    else if (isSeconds(digits)) wish.maxAgeMs = Number(digits) * 1000
    else if (directive !== 'on') throw unknown()
  }
  return wish
}

function isSeconds (digits: string | undefined): boolean {
  return digits !== undefined && Number(digits) >= 1 && Number(digits) <= maxSeconds
}

function unknown (): GatewayError {
  return GatewayError.invalidRequest(`The header ${cacheHeader} takes \`on\`, \`no-cache\`, \`no-store\` and ` +
    `\`max-age=<seconds>\` with 1 to ${maxSeconds} seconds, with commas between them.`)
}
