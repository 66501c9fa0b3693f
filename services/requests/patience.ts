import { UpstreamError } from '../shared/errors.ts'

/** A call that was given up because another provider can be called. */
export class SilentProvider extends UpstreamError {}

/**
 * Gives a call up with a timeout if it has no response after `waitMs`, and calls `onOverdue` halfway. The
 * call's signal also aborts with the given one.
 */
export async function withPatience<Result> (
  waitMs: number, signal: AbortSignal, call: (signal: AbortSignal) => Promise<Result>, onOverdue = () => {}
): Promise<Result> {
  const silence = new AbortController()
  let timer = setTimeout(() => {
    timer = setTimeout(() => silence.abort(), waitMs / 2)
    onOverdue()
  }, waitMs / 2)
  try {
    return await call(AbortSignal.any([signal, silence.signal]))
  } catch (error) {
    if (signal.aborted || !silence.signal.aborted) throw error
    const message = `The provider was silent for ${Math.round(waitMs)} ms, far longer than usual.`
    throw new SilentProvider('timeout', 'maybe', message, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
