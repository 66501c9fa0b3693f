/** A session ends after this long without a request. */
export const idleMs = 3_600_000
/** A session ends this long after sign-in, even if it is in use. */
export const longestMs = 12 * 3_600_000

/** A key used to sign in. The session ends with the secret that it began with. */
export interface KeyHolder { readonly kind: 'key', readonly id: string, readonly secretSha256: string }

/** The key of the environment, TOLLGATE_ADMIN_KEY; `proof` is an HMAC of it by the token of the session. */
export interface EnvironmentHolder { readonly kind: 'environment', readonly proof: string }

/** A person of an identity provider, with their configured groups. */
export interface OidcHolder {
  readonly kind: 'oidc'
  readonly issuer: string
  readonly subject: string
  readonly label: string
  readonly groups: readonly string[]
}

export type Holder = KeyHolder | EnvironmentHolder | OidcHolder

/** A session and the token that its browser keeps. Times in milliseconds since 1970. */
export interface BrowserSession {
  readonly token: string
  readonly holder: Holder
  /** The user key that pays for `/v1`, if the holder is an operator. */
  readonly payer: KeyHolder | null
  readonly startedAt: number
  readonly seenAt: number
}

/** Returns when an unused session ends. */
export function expiryOf ({ startedAt, seenAt }: Pick<BrowserSession, 'startedAt' | 'seenAt'>): number {
  return Math.min(startedAt + longestMs, seenAt + idleMs)
}
