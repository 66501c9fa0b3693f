/** A session ends after this long without a request. */
export const idleMs = 3_600_000
/** A session ends this long after sign-in, however busy it is. */
export const longestMs = 12 * 3_600_000

/** A key by which somebody signed in. A session ends with the secret that it began with. */
export interface KeyHolder { readonly kind: 'key', readonly id: string, readonly secretSha256: string }

/** The key of the environment, TOLLGATE_ADMIN_KEY; `proof` is an HMAC of it by the token of the session. */
export interface EnvironmentHolder { readonly kind: 'environment', readonly proof: string }

/** Somebody whom an identity provider knows, and the configured groups that they belong to. */
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
  /** The user key that pays for `/v1`, where the holder is an operator. */
  readonly payer: KeyHolder | null
  readonly startedAt: number
  readonly seenAt: number
}

/** Returns when a session ends unless it is used before. */
export function expiryOf ({ startedAt, seenAt }: Pick<BrowserSession, 'startedAt' | 'seenAt'>): number {
  return Math.min(startedAt + longestMs, seenAt + idleMs)
}
