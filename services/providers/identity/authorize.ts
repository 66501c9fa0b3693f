import { isText } from '../../shared/json.ts'
import type { Authorize } from '../upstream/response.ts'
import { createTokenSource, type AccessToken } from './token-source.ts'

/** Authorizes requests with a bearer token, which `fetchToken` fetches on first use and before it expires. */
export function authorizeBy (fetchToken: () => Promise<AccessToken>): Authorize {
  const source = createTokenSource(fetchToken)
  return Object.assign(async ({ signal }: Parameters<Authorize>[0]) => {
    const { token, headers } = await source.token(signal)
    return { ...headers, authorization: `Bearer ${token}` }
  }, {
    refused ({ authorization }: Readonly<Record<string, string>>) {
      return isText(authorization) && source.refused(authorization.slice('Bearer '.length))
    }
  })
}
