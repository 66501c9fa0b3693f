import { UpstreamError } from '../shared/errors.ts'
import type { UnmetParameters } from './provider.ts'

/**
 * Returns what a translation of a request drops. If it throws UpstreamError, the request would be refused for
 * the parameter that the error names.
 */
export function unmetBy (translate: () => readonly string[]): UnmetParameters {
  try {
    return { dropped: translate(), refused: [] }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return { dropped: [], refused: [error.details.param ?? 'messages'] }
  }
}
