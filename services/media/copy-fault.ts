import { UpstreamError } from '../shared/errors.ts'
import { MediaRejected } from './errors.ts'

/**
 * What the copy of a result failed by: `dead`, an address without an image or video; `lagging`, a provider
 * that may respond later; `store`, the gateway itself.
 */
export type CopyFault = 'store' | 'dead' | 'lagging' | 'too large'

export function copyFaultOf (error: unknown): CopyFault {
  if (error instanceof MediaRejected) return error.reason === 'too_large' ? 'too large' : 'dead'
  if (!(error instanceof UpstreamError)) return 'store'
  const { kind, details: { status = 0 } } = error
  if (kind === 'too_large' && status === 0) return 'too large'
  if (kind === 'rate' || kind === 'overloaded' || status >= 500 || status === 429) return 'lagging'
  return kind === 'network' || kind === 'timeout' || kind === 'aborted' ? 'lagging' : 'dead'
}
