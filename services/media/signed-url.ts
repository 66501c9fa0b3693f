import { GatewayError } from '../shared/errors.ts'
import { parseFileName } from './blob-store.ts'
import type { MediaRow } from './rows.ts'
import type { SignedMediaStore } from './store.ts'

/** The row a signed URL names. Throws GatewayError: 404 if unknown, 403 if expired or not signed here. */
export async function resolveSignedUrl (
  media: SignedMediaStore, parts: { name: string, exp: unknown, sig: unknown }, nowMs: number
): Promise<MediaRow> {
  const { exp, sig } = parts
  const name = parseFileName(parts.name)
  if (name === null) throw mediaNotFound()
  const signed = typeof exp === 'string' && typeof sig === 'string' && /^\d{1,12}$/.test(exp) &&
    media.verifyUrl(name.id, exp, sig)
  // Checked before the database, where an expired row may be deleted already.
  if (signed && Number(exp) * 1000 <= nowMs) throw forbidden('This URL has expired.', 'url_expired')
  const row = await media.get(name.id)
  if (row === undefined || row.extension !== name.extension) throw mediaNotFound()
  if (!signed) throw forbidden('This URL was not signed by this gateway.', 'invalid_signature')
  return row
}

/** 404: the image or video does not exist or has expired. */
export function mediaNotFound (cause?: unknown): GatewayError {
  return new GatewayError(404, 'invalid_request_error', 'File not found.',
    { code: 'media_not_found', cause, ...uncached })
}

function forbidden (message: string, code: string): GatewayError {
  return new GatewayError(403, 'invalid_request_error', message, { code, ...uncached })
}

const uncached = { headers: { 'cache-control': 'no-store' } }
