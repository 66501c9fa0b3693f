import { UpstreamError } from '../../shared/errors.ts'
import { createLru } from '../../shared/lru.ts'
import { readUpstreamError } from '../error-body.ts'
import type { ChatCall, CompletionCall, ProviderCall, ServerLimits } from '../provider.ts'
import { isAboutLength, isOwnLimit, limitsInRefusal } from '../server-limits.ts'
import { awaitedBy, type Connection, type UpstreamResponse } from '../upstream/response.ts'
import type { Dialect } from './dialects.ts'
import { requestEdits } from './request.ts'

/** Clients can make up names of models; the least recently used are evicted. */
const maxKnownModels = 5000
const noLimits: ServerLimits = {}

export type TextCall = ProviderCall<ChatCall['body'] | CompletionCall['body']>

interface Sent { upstream: UpstreamResponse, dropped: string[], hideUsage: boolean }

interface SenderOptions {
  /** Masked in errors. */
  apiKey: string | null
  headers: Record<string, string>
  connection: Connection
  dialect: Dialect
}

/**
 * Sends requests for text to one server, and remembers what it refuses of their limits: names, and lengths of
 * a model. Longer than other functions, because the attempts to send share that memory.
 */
export function createSender ({ apiKey, headers, connection, dialect }: SenderOptions) {
  /** The dialects of models whose server takes only one name of the output limit, once it has said so. */
  const oneLimit = new Map<string, Dialect>()
  /** What the server has said of each model. */
  const serverLimits = createLru<ServerLimits>(maxKnownModels)

  /** The windows that refusals have named; no list of models makes them longer again. */
  const refusedWindows = createLru<number>(maxKnownModels)

  function learnWindow (model: string, refusal: unknown): void {
    if (!(refusal instanceof UpstreamError) || refusal.details.code !== 'context_length_exceeded') return
    const { contextWindow } = limitsInRefusal(refusal)
    if (contextWindow !== undefined) refusedWindows.set(model, contextWindow)
  }

  function limitsOf (model: string): ServerLimits {
    const stated = serverLimits.get(model) ?? noLimits
    const refused = refusedWindows.get(model)
    if (refused === undefined) return stated
    return { ...stated, contextWindow: Math.min(refused, stated.contextWindow ?? Infinity) }
  }

  function learnLimits (model: string, limits: ServerLimits): void {
    serverLimits.set(model, { ...serverLimits.get(model), ...limits })
  }

  function headersFor ({ conversation }: TextCall): Record<string, string> {
    const place = dialect.rules.conversation
    if (place === null || !('header' in place)) return headers
    const id = conversation?.() ?? null
    return id === null ? headers : { ...headers, [place.header]: id }
  }

  /** Throws UpstreamError for a refusal. */
  async function send (path: string, call: TextCall, as: Dialect): Promise<Sent> {
    const { edits, dropped, hideUsage } = requestEdits(call, as)
    const body = call.rawBody.with(edits)
    const { body: request, signal } = call
    const awaits = awaitedBy(request)
    const response = await connection.send({ method: 'POST', path, headers: headersFor(call), body, signal, awaits })
    if (response.status !== 200) throw await readUpstreamError(response, apiKey)
    return { upstream: response, dropped, hideUsage }
  }

  /** Sends a request; again, with one name of the output limit, where a server refuses two. */
  async function sendByName (path: string, call: TextCall): Promise<Sent> {
    const as = oneLimit.get(call.model) ?? dialect
    try {
      return await send(path, call, as)
    } catch (refusal) {
      if (as.limitFields.length === 1 || !('messages' in call.body) || !isAboutLimitNames(refusal)) throw refusal
      for (const name of ['max_completion_tokens', 'max_tokens'] as const) {
        const narrower = { ...dialect, limitFields: [name] }
        try {
          const sent = await send(path, call, narrower)
          oneLimit.set(call.model, narrower)
          return sent
        } catch (error) {
          if (!isAboutLimitNames(error)) throw error
        }
      }
      throw refusal
    }
  }

  /** Sends a request; again, without a limit that the gateway has set, where a server refuses that. */
  async function sendWithin (path: string, call: TextCall): Promise<Sent & { isUnlimited: boolean }> {
    try {
      return { ...await sendByName(path, call), isUnlimited: false }
    } catch (refusal) {
      learnWindow(call.model, refusal)
      if (!isOwnLimit(call) || !(refusal instanceof UpstreamError) || !isAboutLength(refusal)) throw refusal
      const sent = await sendByName(path, { ...call, outputLimit: null })
      // Only now: the refusal may have been about something else that the client sent.
      learnLimits(call.model, limitsInRefusal(refusal))
      return { ...sent, isUnlimited: true }
    }
  }

  return {
    learnLimits,
    /** Learns the context window that a refusal names, if it does. */
    learnWindow,
    limitsOf,
    /** Throws UpstreamError for a refusal. */
    send: sendWithin
  }
}

const refusedName =
  /\b(not (supported|permitted|allowed)|un(supported|known|recogni[sz]ed|expected)|extra|both|same time|only one|instead)\b/i

/** Whether a server refuses a name of the output limit, or two at once, and not its value. */
function isAboutLimitNames (error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  const { message, details: { status } } = error
  return (status === 400 || status === 422) && /max_(completion_)?tokens/.test(message) && refusedName.test(message)
}
