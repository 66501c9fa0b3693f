import { parseCookie, stringifySetCookie } from 'cookie'

const plainName = 'tollgate_session'
/** Browsers accept the prefix only from https, for this host and all paths: RFC 6265bis, section 4.1.3. */
const secureName = `__Host-${plainName}`

/** Returns the sealed session that a Cookie header carries, undefined if it has none. */
export function sessionIn (header: string | undefined): string | undefined {
  if (header === undefined || !header.includes(plainName)) return undefined
  const cookies = parseCookie(header)
  return cookies[secureName] ?? cookies[plainName]
}

const attemptName = 'tollgate_sign_in'

/** Returns the sealed sign-in attempt that a Cookie header carries, undefined if it has none. */
export function attemptIn (header: string | undefined): string | undefined {
  return header?.includes(attemptName) === true ? parseCookie(header)[attemptName] : undefined
}

/** Returns the Set-Cookie header of a sign-in attempt, which the identity provider's page may send back. */
export function attemptCookie (
  sealed: string, { isSecure, maxAgeMs }: { isSecure: boolean, maxAgeMs: number }
): string {
  return stringifySetCookie({
    name: attemptName,
    value: sealed,
    path: '/console/sign-in',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
    maxAge: Math.floor(maxAgeMs / 1000)
  })
}

/** Returns a Set-Cookie header that no script can read and no other site can send. */
export function sessionCookie (
  sealed: string, { isSecure, maxAgeMs }: { isSecure: boolean, maxAgeMs: number }
): string {
  return stringifySetCookie({
    name: isSecure ? secureName : plainName,
    value: sealed,
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: isSecure,
    maxAge: Math.max(0, Math.floor(maxAgeMs / 1000))
  })
}

/** Returns the Set-Cookie headers that remove a session. */
export function withoutSession (): string[] {
  return [true, false].map(isSecure => sessionCookie('', { isSecure, maxAgeMs: 0 }))
}
