import type { ScriptFile, ScriptStep } from '../../../schemas/config/script.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { kindByStatus } from '../upstream/status-kinds.ts'
import type { Directive } from './directives.ts'

/** What a provider plays instead of calling a server. */
export interface Script {
  /** Takes the steps of a model, by its name at the provider, from the start of a queue. */
  play (model: string, queue: ScriptStep[]): void
  /** Records a call and returns its step. Throws UpstreamError if the script of the model has ended. */
  next (call: ScriptedCall): ScriptStep
  /** The calls so far. */
  readonly calls: readonly RecordedCall[]
  /** Models of calls that had no step. */
  readonly unscripted: readonly string[]
  /** The next of the ids with a prefix, e.g. `call_1`. */
  newId (prefix: string): string
}

/** A call as the provider would have received it. */
export interface ScriptedCall { kind: 'chat' | 'image' | 'video', model: string, body: unknown }

/** `atMs` is monotonic. */
export interface RecordedCall extends ScriptedCall { atMs: number }

/** When a scripted completion was created, in Unix seconds: 2026-01-01. */
export const scriptedCreated = 1_767_225_600

/** Creates the script of one provider. */
export function createScript ({ models }: ScriptFile): Script {
  const queues = new Map(Object.entries(models).map(([model, steps]) => [model, [...steps]]))
  const calls: RecordedCall[] = []
  const counts = new Map<string, number>()
  const unscripted: string[] = []
  return {
    calls,
    unscripted,
    play: (model, queue) => { queues.set(model, queue) },
    newId (prefix) {
      const count = (counts.get(prefix) ?? 0) + 1
      counts.set(prefix, count)
      return `${prefix}_${count}`
    },
    next (call) {
      calls.push({ ...structuredClone(call), atMs: performance.now() })
      const step = queues.get(call.model)?.shift()
      if (step !== undefined) return step
      unscripted.push(call.model)
      throw new UpstreamError('bad_request', 'no', `The script of '${call.model}' has no step for this call.`,
        { status: 400, code: 'unscripted_call', shouldRetry: false })
    }
  }
}

/** The faults of a step. */
export function directiveOf ({ error, delay_ms: delayMs = 0, cut_at: breakAfter }: ScriptStep): Directive {
  const breakOff = breakAfter === undefined
    ? null
    : new UpstreamError('network', 'yes', 'The connection broke, as the script says.')
  const failure = error === undefined ? null : errorOf(error)
  return { error: failure, delayMs, breakOff, breakAfter: breakAfter ?? 0 }
}

function errorOf (error: NonNullable<ScriptStep['error']>): UpstreamError {
  const { status, kind, code, retry_after_ms: retryAfterMs } = error
  const { message = 'The provider failed, as the script says.' } = error
  const known = kind ?? kindByStatus[status ?? 500] ?? ((status ?? 500) < 500 ? 'bad_request' : 'bad_reply')
  return new UpstreamError(known, kind === 'network' ? 'maybe' : 'yes', message, {
    ...status !== undefined && { status },
    ...code !== undefined && { code },
    ...retryAfterMs !== undefined && { retryAfterMs }
  })
}

/** The error that ends the job of a video; null if it succeeds. */
export function videoErrorOf ({ video }: ScriptStep): UpstreamError | null {
  const code = video?.failed
  if (code === undefined) return null
  const kind = /policy|moderat/.test(code) ? 'moderated' : 'bad_reply'
  return new UpstreamError(kind, 'yes', `The video failed, as the script says: ${code}`, { code })
}
