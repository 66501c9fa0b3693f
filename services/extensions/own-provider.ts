import { randomUUID } from 'node:crypto'
import type { ChatCompletion, ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import type { ProviderConfig } from '../config/catalogue/types.ts'
import { recordChunk } from '../providers/generated-text.ts'
import { ResponseOfChunks } from '../providers/openai/whole-and-streamed.ts'
import type { ChatApi, ChatCall, ChatResponse, ProviderParts } from '../providers/provider.ts'
import { createReport, recordUsage, type StreamReport } from '../providers/report.ts'
import { kindByCommonStatus } from '../providers/upstream/status-kinds.ts'
import { UpstreamError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { effectiveLimit } from '../shared/request-fields.ts'
import { wholeCompletion } from './checks.ts'
import { escaped } from './hook-runner.ts'
import { PieceReader, type ReadPiece } from './piece-reader.ts'
import { iterateWithin } from './iterate-within.ts'
import { ProviderError, type ProviderDefinition } from './types.ts'

/** Creates the parts of a provider from the protocol of a plugin. The plugin gets no key of the gateway. */
export function ownProvider (plugin: string, definition: ProviderDefinition, log: Log) {
  return ({ baseUrl, timeouts }: ProviderConfig): ProviderParts => {
    const onEscaped = (err: unknown): void => log.error({ plugin, hook: 'providers', err }, escaped)

    async function * read (
      call: ChatCall, report: StreamReport
    ): AsyncGenerator<ChatCompletionChunk, void, undefined> {
      const { body, model, requestId, signal } = call
      const reader = new PieceReader({ id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model })
      const firstMs = body.stream === true ? timeouts.firstByteMs : timeouts.totalMs
      const begin = () => definition.chat({
        body: structuredClone(body), model, baseUrl, requestId, maxTokens: effectiveLimit(call), signal
      })
      try {
        const limits = { signal, firstMs, nextMs: timeouts.idleMs, onEscaped }
        for await (const piece of iterateWithin(begin, limits)) {
          const { chunk, usage }: ReadPiece = reader.take(piece)
          if (usage !== null) recordUsage(report, usage, false)
          if (chunk === null) continue
          recordChunk(report, chunk)
          yield chunk
        }
      } catch (error) {
        throw toUpstreamError(error, plugin)
      }
      yield * reader.end(report.usage)
    }

    async function chat (call: ChatCall): Promise<ChatResponse> {
      const { body } = call
      if ((body.n ?? 1) > 1) throw onlyOneChoice()
      const report = { ...createReport(), model: call.model }
      const chunks = read(call, report)
      if (body.stream === true) return { kind: 'chunks', chunks, report }
      return { kind: 'json', body: await collect(chunks), text: null, report }
    }

    const api: ChatApi = { chat, stopsOnDisconnect: definition.stopsOnDisconnect ?? true }
    if (definition.models !== undefined) {
      api.models = async signal => {
        const names: readonly unknown[] = await definition.models?.(signal) ?? []
        return names.filter(name => typeof name === 'string')
      }
    }
    return { chat: () => api }
  }
}

function onlyOneChoice (): UpstreamError {
  return new UpstreamError('bad_request', 'no', 'This provider generates one choice a request.',
    { status: 400, param: 'n', code: 'unsupported_parameter' })
}

async function collect (chunks: AsyncIterable<ChatCompletionChunk>): Promise<ChatCompletion> {
  const whole = new ResponseOfChunks(false)
  for await (const chunk of chunks) whole.takeChunk({ ...structuredClone(chunk) })
  return wholeCompletion(whole.whole)
}

/** Converts the failure of a generator into that of a provider. */
function toUpstreamError (error: unknown, plugin: string): UpstreamError {
  if (error instanceof UpstreamError) return error
  if (error instanceof ProviderError || isLikeProviderError(error)) {
    const { status, message, code, retryAfterMs } = error
    const kind = kindByCommonStatus[status] ?? (status < 500 ? 'bad_request' : 'bad_reply')
    const retry = retryAfterMs === undefined ? {} : { retryAfterMs }
    return new UpstreamError(kind, 'yes', String(message).slice(0, 2000), { status, code, ...retry })
  }
  return new UpstreamError('bad_reply', 'yes', `The provider of the plugin ${plugin} has failed.`, { cause: error })
}

/** A plugin may have another copy of the class. */
function isLikeProviderError (error: unknown): error is ProviderError {
  return error instanceof Error && error.name === 'ProviderError' && 'status' in error && Number.isInteger(error.status)
}
