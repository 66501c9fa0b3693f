import type { Log } from '../shared/log.ts'
import { checkedResponse, type ProblemIn } from './checks.ts'
import { PluginError, pluginFailed, rejectedBy } from './plugin-error.ts'
import { HookTimeout, runHook, type HookClock } from './run-hook.ts'
import type { ChatCompletion, RequestContext, TollgatePlugin } from './types.ts'

/** The request that hooks run for. */
export interface HookedRequest {
  requestId: string
  /** Id of the API key. */
  key: string
  account: string
  tags: Readonly<Record<string, string>> | null
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  /** The plugins that took part so far, in order: `name`, or `name;outcome`. */
  notes: string[]
  /** Called when the notes have changed. */
  onNotes: (notes: readonly string[]) => void
  log: Log
  /** Validates what hooks return. */
  problemIn: ProblemIn
}

export type HookName = 'authenticate' | 'request' | 'attempt' | 'chunk' | 'response' | 'settled'
type Outcome = 'failed' | 'timeout' | 'skipped' | 'rejected' | 'responded'

/** The response of a plugin to a request. */
export interface PluginResponse { completion: ChatCompletion }

/** One plugin in one request. */
export interface RunningPlugin {
  readonly plugin: TollgatePlugin
  readonly context: RequestContext
  /** The first decision of the hook that runs; later ones do not count. */
  decision: PluginError | PluginResponse | null
  /** The running hook; a decision counts only while it runs. */
  hook: HookName | null
  /** The model of the chat that it may respond to; null if it may not. */
  model: string | null
  /** Its place among the notes; null before it took part. */
  note: number | null
  readonly abort: AbortController
}

export type HookRunner = ReturnType<typeof createHookRunner>

export const defaultTimeoutMs = 5_000
/** The log message for an error that escaped from a plugin instead of rejecting its hook. */
export const escaped = 'an error has escaped from a plugin'

/** Runs the hooks of plugins for one request, and keeps the notes about them. */
export function createHookRunner (plugins: readonly TollgatePlugin[], request: HookedRequest) {
  const { requestId, notes, log, onNotes } = request
  let active = plugins.map(plugin => begin(plugin, request))

  function note (running: RunningPlugin, outcome: Outcome | null): void {
    running.note ??= notes.push('') - 1
    notes[running.note] = outcome === null ? running.plugin.name : `${running.plugin.name};${outcome}`
    onNotes(notes)
  }

  /** Ends the request, or the part of the plugin in it. Throws PluginError. */
  function fail (running: RunningPlugin, hook: HookName, err: unknown): null {
    const { name, onError = 'fail' } = running.plugin
    log.warn({ reqId: requestId, plugin: name, hook, err }, 'a hook of a plugin has failed')
    const failure = err instanceof HookTimeout ? 'timeout' : 'failed'
    note(running, onError === 'skip' ? 'skipped' : failure)
    active = active.filter(one => one !== running)
    running.abort.abort(err)
    if (onError === 'fail') throw pluginFailed(name, err)
    return null
  }

  /** The decision of the hook that has run; null if it made none. Throws PluginError for a rejection. */
  function decisionOf (running: RunningPlugin): PluginResponse | null {
    const { decision } = running
    if (decision === null) return null
    note(running, decision instanceof PluginError ? 'rejected' : 'responded')
    if (decision instanceof PluginError) throw decision
    return decision
  }

  return {
    /** The plugins that have not failed, in order. */
    get active (): readonly RunningPlugin[] { return active },
    problemIn: request.problemIn,

    /** Notes that a plugin takes part. */
    enter (running: RunningPlugin): void {
      if (running.note === null) note(running, null)
    },

    /**
     * Runs one hook and checks what it returns. Resolves with null if the plugin has failed and is skipped
     * from now on. Throws PluginError if it ends the request.
     */
    async run<Returned, Checked> (
      running: RunningPlugin, hook: HookName,
      invoke: (clock: HookClock) => Returned | PromiseLike<Returned>, check: (returned: Returned) => Checked
    ): Promise<Checked | PluginResponse | null> {
      const { name, timeoutMs = defaultTimeoutMs } = running.plugin
      const onEscaped = (err: unknown): void => {
        log.error({ reqId: requestId, plugin: name, hook, err }, escaped)
      }
      running.hook = hook
      running.decision = null
      try {
        const returned = await runHook(invoke, { timeoutMs, onEscaped })
        return decisionOf(running) ?? check(returned)
      } catch (error) {
        return decisionOf(running) ?? fail(running, hook, error)
      } finally {
        running.hook = null
      }
    }
  }
}

/** Thrown by the methods of a context, so that a hook ends there. */
class Decided extends Error {}

function begin (plugin: TollgatePlugin, request: HookedRequest): RunningPlugin {
  const { requestId, key, account, tags, signal, problemIn } = request
  const abort = new AbortController()

  function decide (make: () => PluginError | PluginResponse): never {
    if (running.hook === null) throw new Error(`The plugin ${plugin.name} decides after its hook has ended.`)
    running.decision ??= make()
    throw new Decided('The hook ends with this decision.')
  }
  const running: RunningPlugin = {
    plugin,
    decision: null,
    hook: null,
    model: null,
    note: null,
    abort,
    context: Object.freeze({
      requestId,
      key,
      account,
      tags: tags === null ? null : Object.freeze({ ...tags }),
      signal: AbortSignal.any([signal, abort.signal]),
      reject: (status: number, message: string, code?: string) =>
        decide(() => rejectedBy(status, message, code)),
      answer: (completion: string | ChatCompletion) => decide(() => {
        if (running.model === null) throw new TypeError('answer() is for chats, in the hook `request`')
        return { completion: checkedResponse(completion, { model: running.model, requestId, problemIn }) }
      })
    })
  }
  return running
}
