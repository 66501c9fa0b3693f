import { GatewayError } from '../shared/errors.ts'
import type { ByteRange } from './blob-store.ts'
import type { MediaRow } from './rows.ts'

export interface ConditionalHeaders {
  range?: string | undefined
  'if-match'?: string | undefined
  'if-unmodified-since'?: string | undefined
  'if-range'?: string | undefined
  'if-none-match'?: string | undefined
  'if-modified-since'?: string | undefined
}

/** Status and headers of a response, and the range to send; absent: the whole file, or nothing for a 304. */
export interface MediaResponse { status: 200 | 206 | 304, headers: Record<string, string>, range?: ByteRange }

/**
 * The response to a request for a file. Throws GatewayError 412 if it is for another file, 416 for a range
 * beyond its end. Multiple ranges are ignored, as RFC 9110, sections 13 and 14, allows.
 */
export function mediaResponse (media: MediaRow, request: ConditionalHeaders, nowMs: number): MediaResponse {
  const validators = {
    etag: `"${media.sha256.slice(0, 32)}"`,
    'last-modified': new Date(media.createdAt).toUTCString(),
    'cache-control': cacheControl(media, nowMs)
  }
  if (!isMatched(request, validators)) throw preconditionFailed()
  if (isUnchanged(request, validators)) return { status: 304, headers: validators }
  const headers = {
    ...validators,
    'content-type': media.mime,
    'content-disposition': `inline; filename="${media.id}.${media.extension}"`,
    'accept-ranges': 'bytes'
  }
  const range = ifRangeMatches(request, validators) ? readRange(request.range, media.bytes) : null
  if (range === null) return { status: 200, headers: { ...headers, 'content-length': String(media.bytes) } }
  const { start, end } = range
  return {
    status: 206,
    headers: {
      ...headers,
      'content-range': `bytes ${start}-${end}/${media.bytes}`,
      'content-length': String(end - start + 1)
    },
    range
  }
}

interface Validators { etag: string, 'last-modified': string }

function cacheControl ({ expiresAt }: MediaRow, nowMs: number): string {
  return `public, max-age=${Math.max(0, Math.floor((expiresAt - nowMs) / 1000))}, immutable`
}

/** Whether the file is the one that the client means. A weak tag never is (RFC 9110, section 13.1.1). */
function isMatched (request: ConditionalHeaders, { etag, 'last-modified': changed }: Validators): boolean {
  const meant = request['if-match']
  if (meant !== undefined) return meant.split(',').map(tag => tag.trim()).some(tag => tag === '*' || tag === etag)
  return !(Date.parse(request['if-unmodified-since'] ?? '') < Date.parse(changed))
}

function preconditionFailed (): GatewayError {
  return new GatewayError(412, 'invalid_request_error', 'The file is not the one that the request is for.',
    { code: 'precondition_failed', headers: { 'cache-control': 'no-store' } })
}

function isUnchanged (request: ConditionalHeaders, { etag, 'last-modified': changed }: Validators): boolean {
  const known = request['if-none-match']
  if (known !== undefined) {
    return known.split(',').map(tag => tag.trim()).some(tag => tag === '*' || tag.replace(/^W\//, '') === etag)
  }
  const since = Date.parse(request['if-modified-since'] ?? '')
  return since >= Date.parse(changed)
}

/** Whether `if-range` matches; otherwise the client would combine parts of different files. */
function ifRangeMatches (request: ConditionalHeaders, { etag, 'last-modified': changed }: Validators): boolean {
  const condition = request['if-range']?.trim()
  return condition === undefined || condition === etag || condition === changed
}

function readRange (header: string | undefined, bytes: number): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null
  if (start < bytes) return { start, end }
  throw new GatewayError(416, 'invalid_request_error', `The range is outside the file of ${bytes} bytes.`,
    { code: 'range_not_satisfiable', headers: { 'content-range': `bytes */${bytes}`, 'cache-control': 'no-store' } })
}
