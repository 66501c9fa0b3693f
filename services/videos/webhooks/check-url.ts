import { isIP } from 'node:net'
import { isPublicAddress } from '../../media/public-address.ts'
import { GatewayError } from '../../shared/errors.ts'

/** The field by which a client names its webhook. */
export const webhookField = 'webhook_url'

/**
 * Checks the address of a client's webhook: HTTPS, or of a trusted origin. What a name resolves to is checked
 * at each attempt. Returns it in its normal form. Throws GatewayError 400.
 */
export function checkWebhookUrl (text: string, trustedOrigins: readonly string[]): string {
  const url = URL.parse(text)
  if (url === null) throw refused('must be a URL')
  if (url.username !== '' || url.password !== '') throw refused('must not contain a user name or password')
  if (trustedOrigins.includes(url.origin)) return url.href
  if (url.protocol !== 'https:') throw refused('must be an HTTPS URL')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if ((isIP(host) !== 0 && !isPublicAddress(host)) || isLocalName(host)) throw refused('must have a public address')
  return url.href
}

/** 400: a webhook reports the end of a job, and the request starts none that outlives it. */
export function noJobForWebhook (): GatewayError {
  return GatewayError.unsupportedParameter(webhookField, `'${webhookField}' is only for videos that run in the background: ` +
    'send the request to /v1/videos, or to /v1/chat/completions with the header `Prefer: respond-async`.')
}

function refused (why: string): GatewayError {
  return GatewayError.invalidValue(webhookField, why)
}

const isLocalName = (host: string): boolean => /(?:^|\.)localhost\.?$/.test(host)
