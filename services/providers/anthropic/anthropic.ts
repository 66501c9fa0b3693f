import { isText } from '../../shared/json.ts'
import { outputLimitOf } from '../../shared/request-fields.ts'
import {
  isEventStream, notAStream, objectOf, parseResponse, readObject, readText
} from '../upstream/read-response.ts'
import { recordChoices } from '../generated-text.ts'
import type { ChatResponse, ChatApi, ChatCall, MessagesCall, NativeResponse, Upstream } from '../provider.ts'
import { atAnthropic, type PlaceCall } from './place.ts'
import { createReport, recordUsage, statedName, type StreamReport } from '../report.ts'
import { countOfPrompt, readUsage } from '../usage.ts'
import { cachesForAnHour } from './cache-marks.ts'
import { toCompletion } from './completion.ts'
import { readAnthropicError } from './errors.ts'
import { countedBody, nativeBody } from './native-body.ts'
import { relayMessage } from './relay.ts'
import { limitInRefusal } from './limit-in-refusal.ts'
import { toMessagesRequest, unmetByClaude, type Translation } from './request.ts'
import { readMessageStream } from './stream.ts'
import { chargedUsageOf, isSearchResult, noCounts, updateCounts, withSearches, type Counts } from './usage.ts'
import { awaitedBy, type UpstreamResponse } from '../upstream/response.ts'
import { urlPart } from '../url-part.ts'

/** Later versions lack `temperature`; a provider's `headers` can name another. */
const version = '2023-06-01'
const betaHeader = 'anthropic-beta'
/** Models in a page, and most pages read. */
const pages = { size: 1000, most: 20 }

/** Chat over Anthropic's Messages API, at Anthropic or behind the same paths. */
export function createAnthropic (upstream: Upstream): ChatApi {
  return createMessagesApi(upstream.at(withVersion(upstream.baseUrl)), atAnthropic)
}

/**
 * Chat over the Messages API where `place` has it. Source: @anthropic-ai/sdk 1.12.0, API version 2023-06-01.
 * One long function, because its methods share the connection and the headers.
 */
export function createMessagesApi (
  { apiKey, headers, connection }: Upstream, place: PlaceCall
): ChatApi & Required<Pick<ChatApi, 'messages'>> {
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const getHeaders = { ...(apiKey === null ? {} : { 'x-api-key': apiKey }), 'anthropic-version': version, ...own }
  const postHeaders = { 'content-type': 'application/json', ...getHeaders }

  async function send (call: ChatCall): Promise<Translation & { upstream: UpstreamResponse }> {
    const { body, dropped } = toMessagesRequest(call)
    const { members, ...placed } = place({ model: call.model, does: doneBy(call), headers: postHeaders })
    const response = await connection.send({
      method: 'POST',
      ...placed,
      body: Buffer.from(JSON.stringify({ ...body, ...members })),
      signal: call.signal,
      awaits: awaitedBy(call.body)
    })
    if (response.status !== 200) throw await readAnthropicError(response, apiKey)
    return { body, dropped, upstream: response }
  }

  /** Sends a request; again with the limit that the server names, where it refuses one that no client set. */
  async function sendWithin (call: ChatCall): Promise<Translation & { upstream: UpstreamResponse }> {
    try {
      return await send(call)
    } catch (refusal) {
      const limit = outputLimitOf(call.body) === null ? limitInRefusal(refusal) : null
      if (limit === null || limit >= (call.outputLimit ?? Infinity)) throw refusal
      return await send({ ...call, outputLimit: limit })
    }
  }

  async function chat (call: ChatCall): Promise<ChatResponse> {
    const { body, dropped, upstream } = await sendWithin(call)
    const report = createReport(dropped)
    const counts = { ...noCounts, keepsAnHour: cachesForAnHour(body) }
    if (body.stream !== true) return await readWhole(upstream, report, counts)
    if (!isEventStream(upstream)) {
      toCompletion(await readObject(upstream), apiKey)
      throw notAStream()
    }
    return { kind: 'chunks', chunks: readMessageStream(upstream, report, { secret: apiKey, counts }), report }
  }

  async function readWhole (
    upstream: UpstreamResponse, report: StreamReport, counts: Counts
  ): Promise<ChatResponse> {
    const body = toCompletion(await readObject(upstream), apiKey, counts)
    report.model = statedName(body.model)
    report.serviceTier = body.service_tier ?? null
    const usage = readUsage(body)
    if (usage === null) recordChoices(report, body.choices)
    else recordUsage(report, usage, false)
    return { kind: 'json', body, text: null, report }
  }

  /** The headers of a native call: the operator's before the client's, but for betas, which add up. */
  function nativeHeaders (client: Readonly<Record<string, string>>): Record<string, string> {
    const betas = [own[betaHeader], client[betaHeader]].filter(isText)
    return {
      ...postHeaders, ...client, ...own, ...(betas.length === 0 ? {} : { [betaHeader]: betas.join(',') })
    }
  }

  async function messages (call: MessagesCall): Promise<NativeResponse> {
    const { members, ...placed } = place({
      model: call.model, does: doneBy(call), headers: nativeHeaders(call.versionHeaders)
    })
    const upstream = await connection.send({
      method: 'POST',
      ...placed,
      body: nativeBody(call, members),
      signal: call.signal,
      awaits: awaitedBy(call.body)
    })
    if (upstream.status !== 200) throw await readAnthropicError(upstream, apiKey)
    const report = createReport()
    // Searches that are neither counted nor in the answer were not made.
    const searches = call.maxSearches > 0 ? 0 : null
    const counts = { ...noCounts, searches, keepsAnHour: cachesForAnHour(call.original.value) }
    if (call.body.stream === true && isEventStream(upstream)) {
      return { kind: 'bytes', events: await relayMessage(upstream, report, { secret: apiKey, counts }), report, native: true }
    }
    const text = await readText(upstream)
    const body = objectOf(await parseResponse(text))
    const { model, choices, service_tier: tier } = toCompletion(body, apiKey)
    if (call.body.stream === true) throw notAStream()
    report.model = statedName(model)
    report.serviceTier = tier ?? null
    const found = Array.isArray(body.content) ? body.content.filter(isSearchResult).length : 0
    const usage = chargedUsageOf(withSearches(updateCounts(counts, body.usage), found))
    if (usage === null) recordChoices(report, choices)
    else recordUsage(report, usage, false)
    return { kind: 'json', body, text, report, native: true }
  }

  async function countMessageTokens (
    { original, model, versionHeaders, signal }:
    Pick<MessagesCall, 'original' | 'model' | 'versionHeaders' | 'signal'>
  ): Promise<number> {
    const { members, ...placed } = place({ model, does: 'count', headers: nativeHeaders(versionHeaders) })
    const body = countedBody(original, members)
    const upstream = await connection.send({ method: 'POST', ...placed, body, signal })
    if (upstream.status !== 200) throw await readAnthropicError(upstream, apiKey)
    return countOfPrompt((await readObject(upstream)).input_tokens)
  }

  async function models (signal: AbortSignal): Promise<string[]> {
    const ids: string[] = []
    for (let page = 0; page < pages.most; page++) {
      const last = ids.at(-1)
      const after = last === undefined ? '' : `&after_id=${urlPart(last)}`
      const path = `/models?limit=${pages.size}${after}`
      const upstream = await connection.send({ method: 'GET', path, headers: getHeaders, signal })
      if (upstream.status !== 200) throw await readAnthropicError(upstream, apiKey)
      const { data, has_more: hasMore } = await readObject(upstream)
      const found = (Array.isArray(data) ? data : []).map(model => model?.id).filter(isText)
      ids.push(...found)
      if (hasMore !== true || found.length === 0) break
    }
    return ids
  }

  return { chat, messages, countMessageTokens, models, unmet: unmetByClaude }
}

const doneBy = ({ body }: ChatCall) => body.stream === true ? 'stream' : 'whole'

/** The base URL with the version that Anthropic's own clients leave out of it. */
function withVersion (baseUrl: string): string {
  const url = new URL(baseUrl)
  if (!/\/v\d+[a-z\d]*$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1`
  return url.toString()
}
