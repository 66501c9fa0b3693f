import type { ConsoleSettings } from '../../../schemas/config/console.ts'
import type { AdminRole } from '../roles.ts'
import { GatewayError } from '../../shared/errors.ts'
import { noRole, signInFailed } from './errors.ts'
import type { OidcHolder } from './session.ts'
import { derivedFrom, newToken } from './token.ts'

export type OidcSettings = NonNullable<ConsoleSettings['oidc']>

/** Time limit for signing in at the provider. */
export const signInMs = 10 * 60_000

/** Returns the role of the person's first configured group, or null. */
export function roleOf ({ roles }: Pick<OidcSettings, 'roles'>, groups: readonly string[]): AdminRole | null {
  return roles.find(({ group }) => groups.includes(group))?.role ?? null
}

/**
 * Signs people in by the authorization code flow with PKCE. The metadata of a provider is discovered on
 * first use. Source: OpenID Connect Core 1.0, section 3.1.
 */
export function createOidc (clock: () => number) {
  let discovered: { settings: OidcSettings, client: Promise<Client> } | null = null

  function clientOf (settings: OidcSettings): Promise<Client> {
    if (discovered?.settings === settings) return discovered.client
    const begun = { settings, client: discoverClient(settings) }
    discovered = begun
    begun.client.catch(() => { if (discovered === begun) discovered = null })
    return begun.client
  }

  return {
    /**
     * Returns the URL for the browser, and the attempt that it must return: its start in ms since 1970, and a
     * token from which `state`, `nonce` and the code verifier are derived. Throws GatewayError 503.
     */
    async begin (settings: OidcSettings, redirectUri: string): Promise<{ url: string, attempt: string }> {
      const { library, client } = await clientOf(settings)
      const attempt = `${clock()}.${newToken()}`
      const { state, nonce, verifier } = partsOf(attempt)
      const url = library.buildAuthorizationUrl(client, {
        redirect_uri: redirectUri,
        scope: settings.scope,
        state,
        nonce,
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256'
      })
      return { url: url.href, attempt }
    },

    /** Returns the person who returned with `url`. Throws GatewayError 401, 403 without a role, 503. */
    async finish (settings: OidcSettings, attempt: string, url: URL): Promise<OidcHolder> {
      // The clock of the node that began the attempt may be ahead.
      const isInTime = Math.abs(clock() - Number.parseInt(attempt, 10)) < signInMs
      if (!isInTime) throw signInFailed('It has taken too long.')
      const { library, client } = await clientOf(settings)
      const claims = await exchange({ library, client }, attempt, url, settings)
      const groups = groupsIn(claims[settings.groupsClaim])
      const subject = String(claims['sub'])
      if (subject.trim() === '') throw signInFailed('The identity provider has sent no subject.')
      const label = [claims['name'], claims['email']].find(one => typeof one === 'string') ?? subject
      const known = settings.roles.filter(({ group }) => groups.includes(group)).map(({ group }) => group)
      if (roleOf(settings, known) === null) throw noRole(label)
      return { kind: 'oidc', issuer: settings.issuer, subject, label: label.slice(0, 100), groups: known }
    }
  }
}

interface Client {
  library: typeof import('openid-client')
  client: import('openid-client').Configuration
}

async function discoverClient ({ issuer, clientId, clientSecret }: OidcSettings): Promise<Client> {
  const library = await import('openid-client')
  const server = new URL(issuer)
  // An ID token is not always encrypted end to end, so its signature is verified.
  const execute = [library.enableNonRepudiationChecks]
  if (server.protocol === 'http:') execute.push(library.allowInsecureRequests)
  const authentication = clientSecret === null ? library.None() : library.ClientSecretPost(clientSecret)
  try {
    const options = { execute, timeout: 10 }
    const client = await library.discovery(server, clientId, undefined, authentication, options)
    return { library, client }
  } catch (cause) {
    throw GatewayError.unavailable('The identity provider cannot be reached.', { retryAfterS: 5, cause })
  }
}

/** Returns the claims of the ID token, and of the user info if only that has the groups. */
async function exchange (
  { library, client }: Client,
  attempt: string,
  url: URL,
  { groupsClaim }: OidcSettings
): Promise<Record<string, unknown>> {
  const { state, nonce, verifier } = partsOf(attempt)
  try {
    const tokens = await library.authorizationCodeGrant(client, url, {
      pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true
    })
    const claims: Record<string, unknown> = { ...tokens.claims() }
    const hasUserInfo = client.serverMetadata().userinfo_endpoint !== undefined
    if (claims[groupsClaim] !== undefined || !hasUserInfo) return claims
    return { ...claims, ...await library.fetchUserInfo(client, tokens.access_token, String(claims['sub'])) }
  } catch (cause) {
    throw signInFailed('The identity provider\'s response is not valid for this browser.', cause)
  }
}

function partsOf (attempt: string): { state: string, nonce: string, verifier: string } {
  const part = (name: string) => derivedFrom(attempt, name)
  return { state: part('state'), nonce: part('nonce'), verifier: part('verifier') }
}

function groupsIn (claim: unknown): string[] {
  if (typeof claim === 'string') return [claim]
  return Array.isArray(claim) ? claim.filter(one => typeof one === 'string') : []
}
