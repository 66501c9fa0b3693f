import type { UpstreamError } from '../../../shared/errors.ts'
import { readUpstreamError } from '../../error-body.ts'
import type { ResponsesCall } from '../../provider.ts'
import { isAboutLength, isOwnLimit } from '../../server-limits.ts'
import { awaitedBy, type Connection, type UpstreamResponse } from '../../upstream/response.ts'
import type { Dialect } from '../dialects.ts'
import { responseBody } from './body.ts'

interface SenderOptions {
  connection: Connection
  headers: Record<string, string>
  dialect: Dialect
  /** Masked in errors. */
  secret: string | null
  /** Receives every refusal. */
  onRefused: (model: string, refusal: UpstreamError) => void
  /** Receives the refusal of a limit that the gateway has set, once the server has answered without it. */
  onLimitRefused: (model: string, refusal: UpstreamError) => void
}

interface Sent { upstream: UpstreamResponse, dropped: string[] }

/** Sends a request for a response. Throws UpstreamError for a refusal. */
export type SendResponseRequest = (call: ResponsesCall) => Promise<Sent>

/** Creates what sends requests to OpenAI's Responses API. Source: openai@7.55.0, resources/responses. */
export function createResponseSender (
  { connection, headers, dialect, secret, onRefused, onLimitRefused }: SenderOptions
): SendResponseRequest {
  /** Models that have refused to encrypt their reasoning, because they have none. */
  const withoutReasoning = new Set<string>()

  /** Sends a request; again without what the gateway adds and the server refuses: reasoning, a limit. */
  async function send (call: ResponsesCall, reasons = !withoutReasoning.has(call.model)): Promise<Sent> {
    const { bytes, dropped, addsReasoning } = responseBody(call, dialect, reasons)
    const { body: request, signal } = call
    const response = await connection.send({
      method: 'POST', path: '/responses', headers, body: bytes, signal, awaits: awaitedBy(request)
    })
    if (response.status === 200) return { upstream: response, dropped }
    const refusal = await readUpstreamError(response, secret)
    onRefused(call.model, refusal)
    // Here the model's own limit is sent too.
    const outputLimit = call.outputLimit ?? call.maxOutput ?? null
    if (isOwnLimit({ ...call, outputLimit }) && isAboutLength(refusal)) {
      const sent = await send({ ...call, outputLimit: null, maxOutput: null }, reasons)
      onLimitRefused(call.model, refusal)
      return sent
    }
    if (!addsReasoning || !isAboutReasoning(refusal)) throw refusal
    const sent = await send(call, false)
    // Recorded only after the retry succeeded: the refusal may have been about an item that the client sent.
    withoutReasoning.add(call.model)
    return sent
  }

  return call => send(call)
}

/** OpenAI says "Encrypted content is not supported with this model." */
function isAboutReasoning ({ message, details: { status } }: UpstreamError): boolean {
  return status === 400 && /encrypted[_ ]content/i.test(message) && /not support|unsupported|not (allowed|permitted)|invalid/i.test(message)
}
