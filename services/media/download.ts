import { Agent, request } from 'undici'
import type { Dispatcher } from 'undici'
import { UpstreamError } from '../shared/errors.ts'
import type { Download, DownloadOptions } from './media.ts'
import { createPublicConnector, PrivateAddress } from './public-connector.ts'
import type { Network } from './public-connector.ts'

interface DownloaderOptions {
  /** Origins that may be private or not encrypted, for addresses that this provider named. */
  trustedOrigins (provider: string): ReadonlySet<string>
  limits?: Partial<DownloadLimits>
  network?: Network
}

export interface DownloadLimits {
  connectMs: number
  /** Until the head of an answer, and longest silence within its body. */
  idleMs: number
  /** All of it, redirects included. */
  totalMs: number
  redirects: number
}

const defaultLimits: DownloadLimits = { connectMs: 10_000, idleMs: 30_000, totalMs: 600_000, redirects: 5 }

const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'tollgate' }

/**
 * Creates what fetches files by address. No key, cookie or user name is ever sent. `close` gives up on what
 * is under way.
 */
export function createDownloader (
  { trustedOrigins, limits: given = {}, network = {} }: DownloaderOptions
): { download: Download, close (): Promise<void> } {
  const limits = { ...defaultLimits, ...given }
  const timeouts = { headersTimeout: limits.idleMs, bodyTimeout: limits.idleMs, maxHeaderSize: 16 * 1024 }
  // Connections of the two kinds must never be mixed up.
  const open = new Agent({ ...timeouts, connect: createPublicConnector(network, limits.connectMs) })
  const trusted = new Agent({ ...timeouts, connect: { timeout: limits.connectMs } })

  async function follow (address: string, signal: AbortSignal, origins: ReadonlySet<string>) {
    let url = parse(address)
    let isTrusted = origins.has(url.origin)
    for (let hops = 0; hops <= limits.redirects; hops++) {
      if (!isTrusted && url.protocol !== 'https:') throw refused('The address of the file is not one of https.')
      const answer = await request(url, { dispatcher: isTrusted ? trusted : open, headers, signal })
      const location = locationOf(answer)
      if (location === null) return answer
      abandon(answer)
      url = parse(location, url)
      // Trust is not lent: whoever else redirects to a trusted origin has no business there.
      isTrusted &&= origins.has(url.origin)
    }
    throw refused(`The address of the file redirects more than ${limits.redirects} times.`)
  }

  return {
    async download (address, options) {
      const overdue = AbortSignal.timeout(limits.totalMs)
      const signal = AbortSignal.any([options.signal, overdue])
      const origins = options.provider === undefined ? none : trustedOrigins(options.provider)
      const toError = (error: unknown) => downloadError(error, options.signal, overdue)
      try {
        const answer = await follow(address, signal, origins)
        try {
          check(answer, options)
        } catch (error) {
          abandon(answer)
          throw error
        }
        return bytesOf(answer, options, toError)
      } catch (error) {
        throw toError(error)
      }
    },
    async close () {
      await Promise.all([open.destroy(), trusted.destroy()])
    }
  }
}

const none: ReadonlySet<string> = new Set()

type Answer = Dispatcher.ResponseData

function parse (text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (url === null || !/^https?:$/.test(url.protocol)) throw refused('The address of the file is not one of https.')
  if (url.username !== '' || url.password !== '') throw refused('The address of the file holds a user name or password.')
  return url
}

function locationOf ({ statusCode, headers: { location } }: Answer): string | null {
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode)
  return isRedirect && typeof location === 'string' ? location : null
}

function check ({ statusCode, headers }: Answer, { maxBytes }: DownloadOptions): void {
  const details = { status: statusCode }
  if (statusCode === 429 || statusCode >= 500) {
    throw new UpstreamError('overloaded', 'yes', `The file cannot be fetched now (HTTP ${statusCode}).`, details)
  }
  if (statusCode !== 200) {
    throw new UpstreamError('bad_reply', 'yes', `The file cannot be fetched (HTTP ${statusCode}).`, details)
  }
  // Nothing is unpacked, so nothing can swell.
  if (!/^(identity)?$/i.test(String(headers['content-encoding'] ?? ''))) throw refused('The file comes packed.')
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

async function * bytesOf (
  { body }: Answer, { maxBytes }: DownloadOptions, toError: (error: unknown) => unknown
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield chunk
    }
  } catch (error) {
    throw toError(error)
  } finally {
    body.destroy()
  }
}

/** An answer that nobody reads would keep its connection. */
function abandon ({ body }: Answer): void {
  body.on('error', () => {}).destroy()
}

const refused = (message: string): UpstreamError => new UpstreamError('bad_reply', 'yes', message)

const tooLarge = (maxBytes: number): UpstreamError => refused(`The file is larger than ${maxBytes} bytes.`)

function downloadError (cause: unknown, signal: AbortSignal, overdue: AbortSignal): UpstreamError {
  if (cause instanceof UpstreamError) return cause
  if (signal.aborted) return new UpstreamError('aborted', 'yes', 'The download was aborted.', { cause })
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (overdue.aborted || /^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$/.test(code)) {
    return new UpstreamError('timeout', 'yes', 'The file did not arrive in time.', { cause })
  }
  // One word for all that leads nowhere: what a private network looks like is nobody's business.
  if (cause instanceof PrivateAddress) return refused('The address of the file is not a public one.')
  return new UpstreamError('network', 'yes', 'The file cannot be fetched.', { cause })
}
