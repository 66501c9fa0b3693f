import { GatewayError } from '../shared/errors.ts'
import { readName } from './blobs.ts'
import type { MediaRow } from './rows.ts'
import type { SignedMedia } from './store.ts'

/** What an address names: `<id>.<extension>`, until when it is good, and its signature. */
export interface MediaAddress { name: string, exp: unknown, sig: unknown }

/**
 * Finds what a signed address leads to. Throws GatewayError: 404 for what is not there, 403 for an address
 * that has expired or was not signed here.
 */
export async function findMedia (
  media: SignedMedia, address: MediaAddress, nowMs: number
): Promise<MediaRow> {
  const { exp, sig } = address
  const name = readName(address.name)
  if (name === null) throw notFound()
  const signed = typeof exp === 'string' && typeof sig === 'string' && /^\d{1,12}$/.test(exp) &&
    media.isSigned(name.id, exp, sig)
  // Said without a look into the database, where expired rows do not stay for long.
  if (signed && Number(exp) * 1000 <= nowMs) throw forbidden('This address has expired.', 'url_expired')
  const row = await media.get(name.id)
  if (row === undefined || row.extension !== name.extension) throw notFound()
  if (!signed) throw forbidden('This address is not signed by this gateway.', 'invalid_signature')
  return row
}

/** 404: there is no such image or video, or not any more. */
export function notFound (cause?: unknown): GatewayError {
  return new GatewayError(404, 'invalid_request_error', 'There is no such file.',
    { code: 'media_not_found', cause, ...uncached })
}

function forbidden (message: string, code: string): GatewayError {
  return new GatewayError(403, 'invalid_request_error', message, { code, ...uncached })
}

const uncached = { headers: { 'cache-control': 'no-store' } }
