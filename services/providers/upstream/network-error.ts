import { UpstreamError, type Sent } from '../../shared/errors.ts'

/** Error codes after which the request certainly never left, so that it may be sent again. */
const neverSent = new Set([
  'ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'
])

/** How zlib's error codes begin: gzip and deflate, brotli, zstd. */
const zlibCode = /^(Z_|ERR_BROTLI|ERR__|ZSTD_)/

/** The error of a connection that failed; `answered`: after the head of an answer. */
export function networkError (error: Error, responded: boolean): UpstreamError {
  const code = codeOf(error)
  if (zlibCode.test(code)) {
    return new UpstreamError('bad_reply', 'yes', 'The provider\'s compressed answer is broken.', { cause: error })
  }
  const isTls = code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL') || code.includes('CERT') ||
    code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
  const sent: Sent = responded ? 'yes' : neverSent.has(code) || isTls ? 'no' : 'maybe'
  const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'network'
  const what = sent === 'no' ? 'could not be reached' : 'broke the connection'
  return new UpstreamError(kind, sent, `The provider ${what} (${code || error.name}).`, { cause: error })
}

function codeOf (error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
