import { createHmac } from 'node:crypto'

interface Message {
  id: string
  /** Unix time of the attempt in seconds. */
  timestampS: number
  body: string
}

/**
 * Returns the headers that sign a message, with one signature per secret: while a secret is rotated, a
 * receiver may know either. A secret is `whsec_` and base64. Source:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md (November 2026)
 */
export function signatureHeaders (
  { id, timestampS, body }: Message, secrets: readonly string[]
): Record<string, string> {
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures.join(' ')
  }
}
