import { isText } from '../../shared/json.ts'
import type { Authorize } from '../upstream/response.ts'
import { fetchGoogleToken } from './google-tokens.ts'
import { createTokenSource } from './token-source.ts'

/** Authorizes requests to Google Cloud by `credentials`, see `readGoogleCredentials`. */
export function authorizeByGoogle (credentials: string | null): Authorize {
  const source = createTokenSource(async () => await fetchGoogleToken(credentials))
  return Object.assign(async ({ signal }: Parameters<Authorize>[0]) => {
    const { token, headers } = await source.token(signal)
    return { ...headers, authorization: `Bearer ${token}` }
  }, {
    refused ({ authorization }: Readonly<Record<string, string>>) {
      return isText(authorization) && source.refused(authorization.slice('Bearer '.length))
    }
  })
}
