import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import {
  looksLikeEvents, maxResponseBytes, objectOf, parseResponse, readText, toText
} from '../upstream/read-response.ts'
import { authorizeBy } from '../identity/authorize.ts'
import { fetchEntraToken } from '../identity/entra-tokens.ts'
import { readUpstreamError } from '../error-body.ts'
import { recordChoices } from '../generated-text.ts'
import type { ChatApi, ProviderResponse, ProviderParts, StatedModel, Upstream } from '../provider.ts'
import { limitsInRefusal } from '../server-limits.ts'
import { promptsOf } from '../../shared/request-fields.ts'
import { createReport, recordUsage, statedName, type StreamReport } from '../report.ts'
import { dialects, callPath, type Dialect } from './dialects.ts'
import { createOpenAIImages } from './images.ts'
import { readModelList } from './model-list.ts'
import { openRouterCostOf } from './openrouter-price.ts'
import { readVideoModels } from './openrouter-video-list.ts'
import { OutputGuard } from './output-guard.ts'
import { createResponsesApi } from './responses/responses-api.ts'
import { createResponseSender } from './responses/send-request.ts'
import { createChatByResponses } from './responses-bridge/chat-by-responses.ts'
import { createChatByEither } from './responses-bridge/choose-api.ts'
import { unmetByEither } from './responses-bridge/unmet-parameters.ts'
import { createSender, type TextCall } from './send-request.ts'
import type { StreamGuard } from './stream-editor.ts'
import type { ProviderConfig } from '../../config/catalogue/types.ts'
import type { StreamForm } from './stream-repair.ts'
import { relayStream } from './stream.ts'
import {
  chargedUsageIn, repairResponse, upstreamErrorIn, withUsage, type TextHead
} from './translate.ts'
import { asChunks, collectStream } from './whole-and-streamed.ts'

/** The parts of a provider that speaks OpenAI's wire format. Throws RangeError for an unknown dialect. */
export function openaiParts (
  config: Pick<ProviderConfig, 'dialect' | 'responses' | 'entra' | 'apiVersion'>
): ProviderParts {
  const { dialect: name, responses, entra, apiVersion } = config
  const known = dialects[name]
  if (known === undefined) throw new RangeError(`There is no dialect called ${name}.`)
  const dialect = {
    ...known,
    ...(responses === 'off' && { responses: false }),
    // Only its versions without a date have addresses without the deployment.
    ...(apiVersion != null && { query: { 'api-version': apiVersion }, deploymentInPath: true })
  }
  const { query, nativeImages, videos } = dialect
  return {
    ...(entra != null && { authorize: authorizeBy(async () => await fetchEntraToken(entra)) }),
    chat: upstream => createOpenAI(upstream.at(withQuery(upstream.baseUrl, query)), dialect),
    images (upstream) {
      const native = nativeImages && mediaUrl(upstream.baseUrl, dialect)
      if (nativeImages && native) return nativeImages(upstream.at(native))
      return createOpenAIImages(upstream.at(withQuery(upstream.baseUrl, query)), dialect)
    },
    videos: videos === null
      ? undefined
      : upstream => videos(upstream.at(mediaUrl(upstream.baseUrl, dialect) ?? upstream.baseUrl))
  }
}

/** The base URL with the dialect's query, unless the operator has set the parameters. */
function withQuery (baseUrl: string, query: Dialect['query']): string {
  const url = new URL(baseUrl)
  for (const [name, value] of Object.entries(query)) {
    if (!url.searchParams.has(name)) url.searchParams.set(name, value)
  }
  return url.href
}

/** The base URL of the dialect's media API; null where there is none. */
function mediaUrl (baseUrl: string, { mediaBase }: Dialect): string | null {
  if (mediaBase === undefined || !baseUrl.endsWith(mediaBase.replaces)) return null
  return baseUrl.slice(0, baseUrl.length - mediaBase.replaces.length) + mediaBase.by
}

/** Chat in OpenAI's wire format. Requests and answers pass as bytes unless something must change. */
function createOpenAI ({ apiKey, headers, connection }: Upstream, dialect: Dialect): ChatApi {
  const ownHeaders = {
    ...(apiKey === null ? {} : { [dialect.auth.header]: dialect.auth.prefix + apiKey }),
    ...headers
  }
  const postHeaders = { ...ownHeaders, 'content-type': 'application/json', accept: '*/*' }

  let stated: ReadonlyMap<string, StatedModel> = new Map()
  const sender = createSender({ apiKey, headers: postHeaders, connection, dialect })
  const { learnLimits, learnWindow, limitsOf, send } = sender

  async function post<Body, Chunk> (path: string, call: TextCall): Promise<ProviderResponse<Body, Chunk>> {
    const { upstream, dropped, hideUsage, isUnlimited } = await send(path, call)
    const report = createReport(dropped)
    const { thinkTags } = call
    const fallback = fallbackHead(call)
    const form = { dialect, secret: apiKey, hideUsage, fallback, choices: choicesOf(call.body), thinkTags }
    const isStream = call.body.stream === true
    const response = isStream
      ? await relayStream(upstream, report, { ...form, guard: guardOf(call, dialect, isUnlimited) })
      : await upstream.read(maxResponseBytes)
    if (!(response instanceof Uint8Array)) return { kind: 'bytes', events: response, report }
    // A string, because Node.js writes head and body in one packet only if the body is one.
    const text = await toText(response)
    const streamed = looksLikeEvents(text.trimStart()) ? await collectStream(text, form) : null
    const received = streamed ?? objectOf(await parseResponse(text))
    const whole = readJson<Body, Chunk>(received, streamed === null ? text : null, report, form)
    return isStream ? { kind: 'chunks', chunks: asChunks<Chunk>(whole.body), report } : whole
  }

  const byChat: ChatApi['chat'] = call => post(callPath('/chat/completions', call.model, dialect), call)
  /** What the Responses API adds, and what is not served without it. */
  function responsesParts (): Partial<ChatApi> {
    if (!dialect.responses) return { responsesOnly: dialect.responsesOnly ?? undefined }
    const send = createResponseSender({
      connection,
      headers: postHeaders,
      dialect,
      secret: apiKey,
      onRefused: learnWindow,
      onLimitRefused: (model, refusal) => learnLimits(model, limitsInRefusal(refusal))
    })
    const byResponses = createChatByResponses({ send, dialect, secret: apiKey })
    return {
      chat: createChatByEither({ dialect, byChat, byResponses }),
      responsesOnly: dialect.needsHostedTools ?? undefined,
      completedByChat: dialect.responsesOnly ?? undefined,
      responses: createResponsesApi(send, dialect, apiKey)
    }
  }

  /** A list of the server; null for a status that means that it has none. */
  async function readList (path: string, signal: AbortSignal, missing?: number): Promise<unknown> {
    const upstream = await connection.send({ method: 'GET', path, headers: ownHeaders, signal })
    if (upstream.status === 200) return await parseResponse(await readText(upstream))
    const error = await readUpstreamError(upstream, apiKey)
    if (upstream.status === missing) return null
    throw error
  }

  return {
    chat: byChat,
    stopsOnDisconnect: dialect.stopsOnDisconnect,
    cacheBreakpoints: dialect.cacheBreakpoints ?? undefined,
    ...responsesParts(),
    unmet: (request, model) => unmetByEither(request, model, dialect),
    limitsOf,
    statedOf: model => stated.get(model),
    complete: dialect.completions ? call => post(callPath('/completions', call.model, dialect), call) : undefined,
    async models (signal) {
      const list = await readList('/models', signal)
      const { modelPrefix, statesPrices } = dialect
      const listed = readModelList(list, modelPrefix, statesPrices ? openRouterCostOf : undefined)
      const videos = statesPrices ? readVideoModels(await readList('/videos/models', signal, 404)) : []
      stated = new Map([...listed.map(({ name, stated }) => [name, stated] as const), ...videos])
      for (const { name, limits } of listed) learnLimits(name, limits)
      return [...stated.keys()]
    }
  }
}

function guardOf (
  { body, held }: TextCall, { outputGuard }: Dialect, isUnlimited: boolean
): StreamGuard | null {
  const kind = outputGuard ?? (isUnlimited ? 'by-text' : null)
  // With `echo`, the stream has the prompt as well.
  if (kind === null || held == null || Reflect.get(body, 'echo') === true) return null
  const output = new OutputGuard(kind, held.tokens, choicesOf(body))
  return { output, estimate: report => held.estimate(body, report) }
}

/** The choices that an answer has, if the server knows `n`. */
function choicesOf (request: TextCall['body']): number {
  return promptsOf(request) * (request.n ?? 1)
}

/** The head of an answer whose server leaves it out. */
function fallbackHead ({ body, requestId, model }: TextCall): TextHead {
  const [prefix, object] = !('messages' in body)
    ? ['cmpl', 'text_completion']
    : ['chatcmpl', body.stream === true ? 'chat.completion.chunk' : 'chat.completion']
  return { id: `${prefix}-${requestId}`, object, created: Math.floor(Date.now() / 1000), model }
}

/** Reads a whole answer; `text` is null if it came as an event stream. */
function readJson<Body, Chunk> (
  received: JsonObject, text: string | null, report: StreamReport, form: StreamForm
): Extract<ProviderResponse<Body, Chunk>, { kind: 'json' }> {
  const { dialect, fallback } = form
  const failure = upstreamErrorIn(received, form)
  if (failure !== null) throw failure
  if (!Array.isArray(received.choices) || !received.choices.some(isObject)) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has no choices.')
  }
  const counted = withUsage(received, dialect)
  const usage = chargedUsageIn(counted, dialect)
  if (usage === null) recordChoices(report, received.choices)
  else recordUsage(report, usage, false)
  report.model = statedName(received.model)
  report.serviceTier = isText(received.service_tier) ? received.service_tier : null
  const whole = fallback.object === 'chat.completion.chunk' ? { ...fallback, object: 'chat.completion' } : fallback
  const body = repairResponse(counted, dialect, whole, form.choices, form.thinkTags)
  // Passed on unchanged; nothing relies on more than was just checked.
  return { kind: 'json', body: body as Body, text: body === received && text !== null ? text : JSON.stringify(body), report }
}
