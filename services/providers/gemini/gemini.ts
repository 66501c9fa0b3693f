import { isObject, type JsonObject } from '../../shared/json.ts'
import { isEventStream, notAStream, objectOf, parseResponse, readText } from '../upstream/read-response.ts'
import { recordChoices } from '../generated-text.ts'
import type { ChatResponse, ChatApi, ChatCall, Upstream } from '../provider.ts'
import { createReport, readServiceTier, recordUsage, statedName } from '../report.ts'
import { readUsage } from '../usage.ts'
import { toChatCompletion } from './response.ts'
import { geminiErrorIn, readGeminiError } from './errors.ts'
import { createPartReader } from './media.ts'
import { toGenerateContentRequest, unmetByGemini } from './request.ts'
import { readChunks } from './stream.ts'
import { awaitedBy, type UpstreamResponse, type UpstreamRequest } from '../upstream/response.ts'
import { googlePages, pagesOf } from '../list-pages.ts'
import { urlPart } from '../url-part.ts'

/**
 * Chat over Google's Gemini API, below `…/v1beta`. Source: ai.google.dev, and @google/genai 3.1.0. One long
 * function, because its methods share the connection and the headers.
 */
export function createGemini ({ apiKey, headers, connection, download }: Upstream): ChatApi {
  const ownHeaders = { ...(apiKey === null ? {} : { 'x-goog-api-key': apiKey }), ...headers }
  const postHeaders = { ...ownHeaders, 'content-type': 'application/json', accept: '*/*' }

  async function send (request: UpstreamRequest): Promise<UpstreamResponse> {
    const response = await connection.send(request)
    if (response.status !== 200) throw await readGeminiError(response, apiKey)
    return response
  }

  const get = (path: string, signal: AbortSignal): Promise<UpstreamResponse> =>
    send({ method: 'GET', path, headers: ownHeaders, signal })

  const post = (path: string, call: ChatCall, body: object): Promise<UpstreamResponse> => send({
    method: 'POST',
    path,
    headers: postHeaders,
    body: Buffer.from(JSON.stringify(body)),
    signal: call.signal,
    awaits: awaitedBy(call.body)
  })

  async function chat (call: ChatCall): Promise<ChatResponse> {
    const { body: request, model, signal } = call
    const { body, dropped } = await toGenerateContentRequest(call, createPartReader({ download, signal }))
    const isLegacy = request.functions !== undefined && request.tools === undefined
    const report = createReport(dropped)
    if (request.stream === true) {
      const upstream = await post(`/${pathOf(model)}:streamGenerateContent?alt=sse`, call, body)
      if (!isEventStream(upstream)) {
        await objectIn(upstream, apiKey)
        throw notAStream()
      }
      const serviceTier = serviceTierIn(upstream)
      report.serviceTier = serviceTier
      const options = { model, isLegacy, serviceTier, secret: apiKey }
      return { kind: 'chunks', chunks: readChunks(upstream, report, options), report }
    }
    const upstream = await post(`/${pathOf(model)}:generateContent`, call, body)
    const serviceTier = serviceTierIn(upstream)
    const completion = toChatCompletion(await objectIn(upstream, apiKey), { model, isLegacy, serviceTier })
    report.model = statedName(completion.model)
    report.serviceTier = serviceTier
    const usage = readUsage(completion)
    if (usage === null) recordChoices(report, completion.choices)
    else recordUsage(report, usage, false)
    return { kind: 'json', body: completion, text: null, report }
  }

  async function models (signal: AbortSignal): Promise<string[]> {
    const read = async (query: string): Promise<JsonObject> =>
      await objectIn(await get(`/models?pageSize=1000${query}`, signal), apiKey)
    const lists = await Array.fromAsync(pagesOf(read, googlePages))
    return lists.flatMap(namesIn)
  }

  return { chat, models, unmet: unmetByGemini }
}

/** Source: ai.google.dev, "Priority inference". */
function serviceTierIn ({ headers }: UpstreamResponse): string | null {
  return readServiceTier(headers['x-gemini-service-tier'])
}

/** A model's path: `models/<name>`, `tunedModels/<name>` or, on Vertex AI, `endpoints/<id>`. */
function pathOf (model: string): string {
  const [, kind = 'models', name = model] = /^(models|tunedModels|endpoints)\/(.+)$/s.exec(model) ?? []
  return `${kind}/${urlPart(name)}`
}

function namesIn ({ models }: JsonObject): string[] {
  const names: string[] = []
  for (const model of Array.isArray(models) ? models : []) {
    if (!isObject(model) || typeof model.name !== 'string') continue
    const { name, supportedGenerationMethods: methods } = model
    if (!Array.isArray(methods) || methods.includes('generateContent')) names.push(name.replace(/^models\//, ''))
  }
  return names
}

/** The body as one object. Throws UpstreamError, also for an error in a body with status 200. */
async function objectIn (response: UpstreamResponse, secret: string | null): Promise<JsonObject> {
  const value = await parseResponse(await readText(response))
  const failure = geminiErrorIn(value, response.status, secret)
  if (failure !== null) throw failure
  return objectOf(value)
}
