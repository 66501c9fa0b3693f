import { isEventStream, notAStream, objectOf, parseResponse, readText } from '../../upstream/read-response.ts'
import type { ChatApi, NativeResponse } from '../../provider.ts'
import { createReport } from '../../report.ts'
import type { Dialect } from '../dialects.ts'
import { recordResponse, relayResponse } from './read-response.ts'
import type { SendResponseRequest } from './send-request.ts'

/** OpenAI's Responses API, whole or streamed, as it comes. `secret` is masked in errors. */
export function createResponsesApi (
  send: SendResponseRequest, dialect: Dialect, secret: string | null
): NonNullable<ChatApi['responses']> {
  return async (call): Promise<NativeResponse> => {
    const { upstream, dropped } = await send(call)
    const report = createReport(dropped)
    const options = { dialect, secret, countsSearches: call.maxSearches > 0 }
    if (call.body.stream === true && isEventStream(upstream)) {
      return { kind: 'bytes', events: await relayResponse(upstream, report, options), report, native: true }
    }
    const text = await readText(upstream)
    const body = objectOf(await parseResponse(text))
    recordResponse(report, body, options)
    if (call.body.stream === true) throw notAStream()
    return { kind: 'json', body, text, report, native: true }
  }
}
