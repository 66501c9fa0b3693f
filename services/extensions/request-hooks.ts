import { ProviderError } from './types.ts'
import { runUnattributed } from './attribution.ts'
import { checkedCall, checkedCompletion, copyOf } from './checks.ts'
import { createHookRunner, type PluginResponse, type HookedRequest, type HookRunner, type RunningPlugin } from './hook-runner.ts'
import { PluginError } from './plugin-error.ts'
import { asChunksThrough, StreamStages } from './stream-stages.ts'
import type {
  AttemptCall, AttemptOutcome, ChatCompletion, PluginCall, SettledRecord, TollgatePlugin
} from './types.ts'

export type { PluginResponse } from './hook-runner.ts'

/** A call of a provider as `attempt` runs it. */
export interface AttemptedCall<Response> {
  call: AttemptCall
  /** Calls the provider. */
  next: () => Promise<Response>
  /** The part of the response that a plugin may see. */
  outcomeOf: (response: Response, tookMs: number) => AttemptOutcome
}

/**
 * The hooks of all plugins for one request, each run in the listed order. Methods throw PluginError, which
 * ends the request.
 */
export class RequestHooks {
  readonly #runner: HookRunner
  /** Whether a plugin reads chats, so that providers are called for chats alone. */
  readonly readsChats: boolean

  constructor (plugins: readonly TollgatePlugin[], request: HookedRequest) {
    this.#runner = createHookRunner(plugins, request)
    this.readsChats = plugins.some(readsChats)
  }

  /** Before the money is reserved: the call to serve, or the response of a plugin. */
  async request (received: PluginCall): Promise<PluginCall | PluginResponse> {
    let call = received
    for (const running of this.#runner.active) {
      const { plugin, context } = running
      if (plugin.request === undefined) continue
      running.model = call.kind === 'chat' ? call.body.model : null
      const given = call
      this.#runner.enter(running)
      const result = await this.#runner.run(running, 'request',
        () => plugin.request?.(copyOf(given), context),
        returned => checkedCall(given, returned, this.#runner.problemIn))
      running.model = null
      if (result === null) continue
      if ('completion' in result) return result
      call = result
    }
    return call
  }

  /** Around one call of a provider, the first plugin outermost. The outcome of the call stands. */
  async attempt<Response> (attempted: AttemptedCall<Response>): Promise<Response> {
    const around = this.#runner.active.filter(({ plugin }) => plugin.attempt !== undefined)
    const call = around.reduceRight<() => Promise<Response>>((next, running) =>
      async () => await attemptWithin(this.#runner, running, { ...attempted, next }), attempted.next)
    return await call()
  }

  /** A whole response, before it is charged and sent. */
  async response (received: ChatCompletion): Promise<ChatCompletion> {
    let completion = received
    for (const running of this.#runner.active) completion = await respond(this.#runner, running, completion)
    return completion
  }

  /** The stages that the chunks of a stream pass; null if no plugin reads them. */
  stream (): StreamStages | null {
    const reading = this.#runner.active.filter(({ plugin: { chunk, response } }) =>
      (chunk ?? response) !== undefined)
    if (reading.length === 0) return null
    reading.forEach(running => this.#runner.enter(running))
    return new StreamStages(this.#runner, reading, respond)
  }

  /** After the charge; failures are logged. */
  async settled (record: SettledRecord): Promise<void> {
    for (const running of this.#runner.active) {
      const { plugin, context } = running
      if (plugin.settled === undefined) continue
      try {
        const report = { ...record, tags: context.tags }
        await this.#runner.run(running, 'settled', () => plugin.settled?.(report, context), () => true)
      } catch (error) {
        if (!(error instanceof PluginError)) throw error
      }
    }
  }
}

/** Whether a plugin reads requests or responses of chat. */
export function readsChats ({ request, chunk, response }: TollgatePlugin): boolean {
  return request !== undefined || chunk !== undefined || response !== undefined
}

async function respond (
  runner: HookRunner, running: RunningPlugin, given: ChatCompletion
): Promise<ChatCompletion> {
  const { plugin, context } = running
  if ((plugin.chunk ?? plugin.response) === undefined) return given
  runner.enter(running)
  if (plugin.response === undefined) return await asChunksThrough(runner, running, given)
  const result = await runner.run(running, 'response',
    () => plugin.response?.(copyOf(given), context),
    returned => checkedCompletion(given, returned, runner.problemIn))
  return result === null || 'completion' in result ? given : result
}

/**
 * Runs one plugin around a call. Once the call has begun its outcome counts, whatever the plugin does: the
 * provider may charge for it.
 */
async function attemptWithin<Response> (
  runner: HookRunner, running: RunningPlugin, { call, next, outcomeOf }: AttemptedCall<Response>
): Promise<Response> {
  const { plugin, context } = running
  let called: Promise<Response> | null = null
  let isOver = false
  let shown: ProviderError | null = null
  runner.enter(running)
  try {
    await runner.run(running, 'attempt', async clock => {
      const startedMs = performance.now()
      const callOnce = async (): Promise<AttemptOutcome> => {
        if (isOver) throw new Error('The attempt is over.')
        const begun = called ??= runUnattributed(next)
        try {
          const response = await clock.pausedFor(() => begun)
          return outcomeOf(response, performance.now() - startedMs)
        } catch (error) {
          throw shown ??= shownFailure(error)
        }
      }
      try {
        await plugin.attempt?.({ ...call }, callOnce, context)
      } catch (error) {
        if (error !== shown) throw error
      }
    }, () => {
      if (called === null) throw new TypeError('returned without a call of next()')
    })
  } catch (error) {
    if (called === null) throw error
  } finally {
    isOver = true
  }
  return await (called ?? next())
}

/** A failure as a plugin sees it, without what the provider was sent. */
function shownFailure (error: unknown): ProviderError {
  const details: unknown = error instanceof Error ? Reflect.get(error, 'details') : null
  const status: unknown = details instanceof Object ? Reflect.get(details, 'status') : null
  const message = error instanceof Error ? error.message : 'failed'
  return new ProviderError(typeof status === 'number' ? status : 502, message)
}
