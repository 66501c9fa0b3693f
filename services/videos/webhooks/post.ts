import { Agent, type Dispatcher } from 'undici'
import { createPublicConnector, PrivateAddressError, type Network } from '../../media/public-connector.ts'
import { signatureHeaders } from './sign.ts'

export type Poster = ReturnType<typeof createPoster>

interface PosterOptions {
  /** Origins that may be private or plain HTTP. */
  trustedOrigins: readonly string[]
  network?: Network
}

/** Where a message goes, and the secrets that sign it. */
export interface Receiver { url: string, secrets: readonly string[] }

const timeoutMs = 15_000

/** Creates what posts signed messages: to public addresses over HTTPS, and to trusted origins. */
export function createPoster ({ trustedOrigins, network = {} }: PosterOptions) {
  // Separate pools: a connection to a private address must never serve an untrusted URL.
  const open = new Agent({ connect: createPublicConnector(network, timeoutMs) })
  const trusted = new Agent({ connect: { timeout: timeoutMs } })

  return {
    /** Throws an Error unless the receiver responds with 2xx within 15 s; redirects are not followed. */
    async post (
      message: Parameters<typeof signatureHeaders>[0], { url, secrets }: Receiver, signal: AbortSignal
    ): Promise<void> {
      const { origin, protocol, pathname, search } = new URL(url)
      const isTrusted = trustedOrigins.includes(origin)
      if (!isTrusted && protocol !== 'https:') throw new Error('the URL is not an HTTPS URL')
      const dispatcher = isTrusted ? trusted : open
      const { statusCode, body } = await dispatcher.request({
        origin,
        path: pathname + search,
        method: 'POST',
        headers: {
          'content-type': 'application/json', 'user-agent': 'tollgate', ...signatureHeaders(message, secrets)
        },
        body: message.body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      }).catch((error: unknown) => { throw isTrusted ? error : withoutPrivateNames(error) })
      discard(body)
      if (statusCode < 200 || statusCode > 299) throw new Error(`the webhook answered with HTTP ${statusCode}`)
    },
    async close (): Promise<void> {
      await Promise.all([open.destroy(), trusted.destroy()])
    }
  }
}

/** Clients read why: the same for names without an address as for those of the private network. */
function withoutPrivateNames (error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isHidden = error instanceof PrivateAddressError || /^(ENOTFOUND|EAI_\w+|ENODATA)$/.test(code)
  return isHidden ? new Error('the URL does not lead to a public address', { cause: error }) : error
}

function discard (body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy()
}
