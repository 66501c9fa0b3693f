import { parseCookie, stringifySetCookie } from 'cookie'
import { longestMs } from './session.ts'

const plainName = 'tollgate_session'
/** Browsers accept the prefix only from https, for this host and all paths: RFC 6265bis, section 4.1.3. */
const secureName = `__Host-${plainName}`

/**
 * Returns the token of the session that a Cookie header carries, undefined if it has none. Over https, only
 * a cookie with the prefix counts: other hosts of the domain can set one without it and so sign a browser in.
 */
export function sessionIn (header: string | undefined, isSecure: boolean): string | undefined {
  return cookieIn(header, isSecure ? secureName : plainName)
}

const plainAttemptName = 'tollgate_sign_in'
const secureAttemptName = `__Host-${plainAttemptName}`

/** Returns the sign-in attempt that a Cookie header carries, undefined if it has none. */
export function attemptIn (header: string | undefined, isSecure: boolean): string | undefined {
  return cookieIn(header, isSecure ? secureAttemptName : plainAttemptName)
}

function cookieIn (header: string | undefined, name: string): string | undefined {
  return header?.includes(name) === true ? parseCookie(header)[name] : undefined
}

/** Returns the Set-Cookie header of a sign-in attempt, which the identity provider's page may send back. */
export function attemptCookie (
  attempt: string, { isSecure, maxAgeMs }: { isSecure: boolean, maxAgeMs: number }
): string {
  return stringifySetCookie({
    name: isSecure ? secureAttemptName : plainAttemptName,
    value: attempt,
    path: isSecure ? '/' : '/console/sign-in',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
    maxAge: Math.floor(maxAgeMs / 1000)
  })
}

/** Returns a Set-Cookie header that no script can read and no other site can send. */
export function sessionCookie (
  token: string, { isSecure, maxAgeMs = longestMs }: { isSecure: boolean, maxAgeMs?: number }
): string {
  return stringifySetCookie({
    name: isSecure ? secureName : plainName,
    value: token,
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: isSecure,
    maxAge: Math.floor(maxAgeMs / 1000)
  })
}

/** Returns the Set-Cookie headers that remove a session. */
export function withoutSession (): string[] {
  return [true, false].map(isSecure => sessionCookie('', { isSecure, maxAgeMs: 0 }))
}
