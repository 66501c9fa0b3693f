/** The headers of the console's pages: no other origins, no inline code, no frames. */
export function consoleHeaders (publicBaseUrl: string | null): Record<string, string> {
  // Media URLs use the public URL, and the page may be open at another address of the same gateway.
  const media = publicBaseUrl === null ? "'self'" : `'self' ${new URL(publicBaseUrl).origin}`
  const policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "font-src 'self'", "connect-src 'self'",
    `img-src ${media} data: blob:`, `media-src ${media} blob:`, "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"
  ]
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY'
  }
}
