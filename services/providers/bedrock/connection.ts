import { UpstreamError } from '../../shared/errors.ts'
import type { Connection, UpstreamRequest, UpstreamResponse } from '../upstream/response.ts'
import type { AwsIdentity } from './credentials.ts'
import { isAboutCredentials, readBedrockError } from './errors.ts'

interface BedrockConnection {
  /** Masked in errors. */
  secret: string | null
  /** Null: requests have a key. */
  identity: AwsIdentity | null
}

/**
 * A connection to AWS whose responses are successes: `send` throws UpstreamError for any other. If temporary
 * credentials are refused, the request is sent once more with new ones.
 */
export function bedrockConnection (
  connection: Connection, { secret, identity }: BedrockConnection
): Connection {
  async function attempt (request: UpstreamRequest): Promise<UpstreamResponse> {
    const response = await connection.send(request)
    if (response.status >= 200 && response.status < 300) return response
    throw await readBedrockError(response, secret)
  }

  return {
    async send (request) {
      try {
        return await attempt(request)
      } catch (error) {
        const isRefused = error instanceof UpstreamError && isAboutCredentials(error)
        if (!isRefused || identity?.forget() !== true) throw error
        return await attempt(request)
      }
    },
    close: () => connection.close()
  }
}
