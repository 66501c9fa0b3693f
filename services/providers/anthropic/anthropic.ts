import { isText } from '../../shared/json.ts'
import { isEventStream, notAStream, readObject } from '../../upstream/answer-body.ts'
import { recordChoices } from '../generated-text.ts'
import type { ChatAnswer, ChatApi, ChatCall, Upstream } from '../provider.ts'
import { createReport, readUsage, recordUsage, statedName, type StreamReport } from '../report.ts'
import { toCompletion } from './completion.ts'
import { readAnthropicError } from './errors.ts'
import { toMessagesRequest, unmetByClaude } from './request.ts'
import { readMessageStream } from './stream.ts'
import type { Exchange } from '../../upstream/exchange.ts'

/** Later versions lack `temperature`; a provider's `headers` can name another. */
const version = '2023-06-01'
/** Models in a page, and most pages read. */
const pages = { size: 1000, most: 20 }

/** Chat over Anthropic's Messages API. Source: @anthropic-ai/sdk 1.12.0, API version 2023-06-01. */
export function createAnthropic ({ baseUrl, apiKey, headers, connect }: Upstream): ChatApi {
  const connection = connect(withVersion(baseUrl))
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const getHeaders = { ...(apiKey === null ? {} : { 'x-api-key': apiKey }), 'anthropic-version': version, ...own }
  const postHeaders = { 'content-type': 'application/json', ...getHeaders }

  async function chat (call: ChatCall): Promise<ChatAnswer> {
    const { body, dropped } = toMessagesRequest(call)
    const exchange = await connection.send({
      method: 'POST',
      path: '/messages',
      headers: postHeaders,
      body: Buffer.from(JSON.stringify(body)),
      signal: call.signal
    })
    if (exchange.status !== 200) throw await readAnthropicError(exchange, apiKey)
    const report = createReport(dropped)
    if (body.stream !== true) return await readWhole(exchange, report)
    if (!isEventStream(exchange)) {
      toCompletion(await readObject(exchange), apiKey)
      throw notAStream()
    }
    return { kind: 'chunks', chunks: readMessageStream(exchange, report, { secret: apiKey }), report }
  }

  async function readWhole (exchange: Exchange, report: StreamReport): Promise<ChatAnswer> {
    const body = toCompletion(await readObject(exchange), apiKey)
    report.model = statedName(body.model)
    report.serviceTier = body.service_tier ?? null
    const usage = readUsage(body)
    if (usage === null) recordChoices(report, body.choices)
    else recordUsage(report, usage, false)
    return { kind: 'json', body, text: null, report }
  }

  async function models (signal: AbortSignal): Promise<string[]> {
    const ids: string[] = []
    for (let page = 0; page < pages.most; page++) {
      const last = ids.at(-1)
      const after = last === undefined ? '' : `&after_id=${encodeURIComponent(last)}`
      const path = `/models?limit=${pages.size}${after}`
      const exchange = await connection.send({ method: 'GET', path, headers: getHeaders, signal })
      if (exchange.status !== 200) throw await readAnthropicError(exchange, apiKey)
      const { data, has_more: hasMore } = await readObject(exchange)
      const found = (Array.isArray(data) ? data : []).map(model => model?.id).filter(isText)
      ids.push(...found)
      if (hasMore !== true || found.length === 0) break
    }
    return ids
  }

  return { chat, models, unmet: unmetByClaude }
}

/** The base URL with the version that Anthropic's own clients leave out of it. */
function withVersion (baseUrl: string): string {
  const url = new URL(baseUrl)
  if (!/\/v\d+[a-z\d]*$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1`
  return url.toString()
}
