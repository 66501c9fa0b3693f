import { Agent, type Dispatcher } from 'undici'
import { UpstreamError } from '../shared/errors.ts'
import type { Download, DownloadOptions } from './media.ts'
import { createPublicConnector, PrivateAddressError, type Network } from './public-connector.ts'

interface DownloaderOptions {
  /** Origins that may be private or plain HTTP in URLs from this provider. */
  trustedOrigins (provider: string): ReadonlySet<string>
  limits?: Partial<DownloadLimits>
  network?: Network
}

export interface DownloadLimits { connectMs: number, idleMs: number, totalMs: number, redirects: number }

const defaultLimits: DownloadLimits = { connectMs: 10_000, idleMs: 30_000, totalMs: 600_000, redirects: 5 }

const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'tollgate' }

/** Creates a downloader that sends no credentials. `close` aborts the running downloads. */
export function createDownloader (
  { trustedOrigins, limits: given = {}, network = {} }: DownloaderOptions
): { download: Download, close (): Promise<void> } {
  const limits = { ...defaultLimits, ...given }
  const timeouts = { headersTimeout: limits.idleMs, bodyTimeout: limits.idleMs, maxHeaderSize: 16 * 1024 }
  // Separate pools: a connection to a private address must never serve an untrusted URL.
  const open = new Agent({ ...timeouts, connect: createPublicConnector(network, limits.connectMs) })
  const trusted = new Agent({ ...timeouts, connect: { timeout: limits.connectMs } })

  async function follow (start: string, signal: AbortSignal, origins: ReadonlySet<string>) {
    let url = parseUrl(start)
    let isTrusted = origins.has(url.origin)
    for (let hops = 0; hops <= limits.redirects; hops++) {
      if (!isTrusted && url.protocol !== 'https:') throw rejected('The file URL is not an HTTPS URL.')
      const { origin, pathname, search } = url
      const dispatcher = isTrusted ? trusted : open
      const response = await dispatcher.request({ origin, path: pathname + search, method: 'GET', headers, signal })
      const location = locationOf(response)
      if (location === null) return response
      discard(response)
      url = parseUrl(location, url)
      // A redirect from an untrusted origin never gains trust.
      isTrusted &&= origins.has(url.origin)
    }
    throw rejected(`The file URL redirects more than ${limits.redirects} times.`)
  }

  return {
    async download (url, options) {
      const timeout = AbortSignal.timeout(limits.totalMs)
      const signal = AbortSignal.any([options.signal, timeout])
      const origins = options.provider === undefined ? noOrigins : trustedOrigins(options.provider)
      const toError = (error: unknown) => downloadError(error, options.signal, timeout)
      try {
        const response = await follow(url, signal, origins)
        try {
          checkResponse(response, options)
        } catch (error) {
          discard(response)
          throw error
        }
        return readBytes(response, options, toError)
      } catch (error) {
        throw toError(error)
      }
    },
    async close () {
      await Promise.all([open.destroy(), trusted.destroy()])
    }
  }
}

const noOrigins: ReadonlySet<string> = new Set()

type Response = Dispatcher.ResponseData

function parseUrl (text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (url === null || !/^https?:$/.test(url.protocol)) throw rejected('The file URL is not an HTTPS URL.')
  if (url.username !== '' || url.password !== '') throw rejected('The file URL contains a user name or password.')
  return url
}

function locationOf ({ statusCode, headers: { location } }: Response): string | null {
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode)
  return isRedirect && typeof location === 'string' ? location : null
}

function checkResponse ({ statusCode, headers }: Response, { maxBytes }: DownloadOptions): void {
  const details = { status: statusCode }
  if (statusCode === 429 || statusCode >= 500) {
    throw new UpstreamError('overloaded', 'yes', `The file cannot be downloaded now (HTTP ${statusCode}).`, details)
  }
  if (statusCode !== 200) {
    throw new UpstreamError('bad_reply', 'yes', `The file cannot be downloaded (HTTP ${statusCode}).`, details)
  }
  // Nothing is decompressed, which excludes decompression bombs.
  if (!/^(identity)?$/i.test(String(headers['content-encoding'] ?? ''))) throw rejected('The file is compressed.')
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

async function * readBytes (
  { body }: Response, { maxBytes }: DownloadOptions, toError: (error: unknown) => unknown
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

function discard ({ body }: Response): void {
  body.on('error', () => {}).destroy()
}

const noPublicAddress = 'The file URL does not lead to a public address.'

const rejected = (message: string): UpstreamError => new UpstreamError('bad_reply', 'yes', message)

const tooLarge = (maxBytes: number): UpstreamError =>
  new UpstreamError('too_large', 'yes', `The file is larger than ${maxBytes} bytes.`)

function downloadError (cause: unknown, signal: AbortSignal, timeout: AbortSignal): UpstreamError {
  if (cause instanceof UpstreamError) return cause
  if (signal.aborted) return new UpstreamError('aborted', 'yes', 'The download was aborted.', { cause })
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (timeout.aborted || /^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$/.test(code)) {
    return new UpstreamError('timeout', 'yes', 'The file did not arrive in time.', { cause })
  }
  // The same message for names without an address, to reveal nothing about those of the private network.
  if (cause instanceof PrivateAddressError) return rejected(noPublicAddress)
  if (code === 'ENOTFOUND') return new UpstreamError('network', 'yes', noPublicAddress, { cause })
  return new UpstreamError('network', 'yes', 'The file cannot be downloaded.', { cause })
}
