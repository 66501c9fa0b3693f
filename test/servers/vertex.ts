import { readFileSync } from 'node:fs'
import { complaintAbout } from './anthropic-rules.ts'
import { refusal, reply, sign } from './anthropic.ts'
import { fault, generateContentRequest } from './gemini-messages.ts'
import { refusalOf, type Parsed } from './gemini-rules.ts'
import { page, problem, says } from './gemini.ts'
import { createGoogleIdentity, type GoogleIdentity } from './google-identity.ts'
import { document } from './anthropic.ts'
import { reply as completion, startUpstream, type Script, type Upstream, type UpstreamRequest } from './upstream.ts'

export interface VertexServer extends Upstream {
  readonly origin: string
  readonly identity: GoogleIdentity
  /** Faults of requests that Vertex AI would not notice; a test must end with none. */
  readonly faults: string[]
  /** Calls of models. */
  readonly calls: UpstreamRequest[]
}

const project = 'acme-prod'
/** The locations of each publisher's models. */
const locations: Readonly<Record<string, readonly string[]>> = {
  google: ['global', 'us-central1', 'europe-west4', 'eu'], anthropic: ['global', 'us-east5', 'eu']
}
const listed: Readonly<Record<string, readonly string[]>> = {
  google: ['gemini-3.5-flash', 'gemini-2.5-pro', 'imagen-4.0-generate-001', 'veo-3.1-generate-001', 'text-embedding-005', 'gemma3'],
  anthropic: ['claude-sonnet-4-6', 'claude-haiku-4-5']
}

/**
 * Vertex AI with its identity service on one port. It refuses what Google refuses: wrong tokens, projects,
 * locations and bodies. Source: @google/genai 3.1.0, @anthropic-ai/vertex-sdk 1.1.3 and
 * @ai-sdk/google-vertex 4.0.208; the requests of the first two are in test/fixtures/vertex.
 */
export async function startVertex (): Promise<VertexServer> {
  const identity = createGoogleIdentity()
  const faults: string[] = []
  const calls: UpstreamRequest[] = []
  const upstream = await startUpstream({ route })

  function route (request: UpstreamRequest, queued: () => Script | undefined): Script {
    const { path, headers, bytes, body } = request
    const form = body === null ? Object.fromEntries(new URLSearchParams(bytes.toString())) : { ...body }
    const answer = identity.respond({ path, headers, form: form as Record<string, string> }, server.origin)
    if (answer !== null) {
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
      return document(text, { status: answer.status })
    }
    if (request.method === 'POST') calls.push(request)
    for (const name of ['x-api-key', 'x-goog-api-key', 'anthropic-version']) {
      if (headers[name] !== undefined) faults.push(`${name} was sent`)
    }
    if (!identity.isValid(headers.authorization)) return problem(401, 'UNAUTHENTICATED', unauthenticated)
    return serve(request, queued)
  }

  const server = Object.assign(upstream, { origin: new URL(upstream.url).origin, identity, faults, calls })
  return server
}

const unauthenticated = 'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or ' +
  'other valid authentication credential.'

function serve (request: UpstreamRequest, queued: () => Script | undefined): Script {
  const { method, path } = request
  const { pathname, searchParams } = new URL(path, 'http://vertex')
  const [, publisher = ''] = /^\/v1beta1\/publishers\/(\w+)\/models$/.exec(pathname) ?? []
  if (method === 'GET' && publisher !== '') return listModels(publisher, searchParams.get('pageToken'))
  const [, version, owner, location = '', rest = ''] =
    /^\/(v1|v1beta1)\/projects\/([^/]+)\/locations\/([^/]+)\/(.+)$/.exec(pathname) ?? []
  if (method !== 'POST' || version === undefined) return page(404, '<title>Error 404 (Not Found)!!1</title>')
  if (owner !== project) return problem(403, 'PERMISSION_DENIED', `Permission denied on resource project ${owner}.`)
  if (rest === 'endpoints/openapi/chat/completions') return openModel(request, queued)
  const [, kind, name = '', task] = /^(publishers\/\w+\/models|endpoints)\/([^/:]+):(\w+)$/.exec(rest) ?? []
  const model = decodeURIComponent(name)
  const maker = kind?.split('/')[1] ?? 'google'
  if (locations[maker]?.includes(location) !== true) {
    return problem(404, 'NOT_FOUND', `Publisher Model \`projects/${owner}/locations/${location}/publishers/${maker}/models/${model}\` ` +
      'was not found or your project does not have access to it.')
  }
  switch (task) {
    case 'generateContent': case 'streamGenerateContent': return gemini(request, model, queued)
    case 'rawPredict': case 'streamRawPredict': return claude(request, { model, isStream: task === 'streamRawPredict' }, queued)
    case 'predictLongRunning': return queued() ?? document(JSON.stringify({ name: `${pathname.slice('/v1beta1/'.length).split(':')[0]}/operations/1` }))
    case 'fetchPredictOperation': return queued() ?? document(JSON.stringify({ done: true, response: { videos: [video] } }))
    case 'predict': return imagen(request, queued)
    default: return page(404, '<title>Error 404 (Not Found)!!1</title>')
  }
}

function gemini ({ body }: UpstreamRequest, model: string, queued: () => Script | undefined): Script {
  const parseError = fault(body, generateContentRequest)
  if (parseError !== null) return problem(400, 'INVALID_ARGUMENT', parseError)
  const { contents = [] } = body as Parsed
  if (contents.some(({ role }) => role === undefined)) return problem(400, 'INVALID_ARGUMENT', 'Please use a valid role: user, model.')
  const refused = refusalOf(body as Parsed, model)
  if (refused !== null) return problem(400, 'INVALID_ARGUMENT', refused)
  const content = { role: 'model', parts: [{ text: 'Hello from Gemini.' }] }
  return queued() ?? says([{
    candidates: [{ content, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: 4, candidatesTokenCount: 7, thoughtsTokenCount: 5, totalTokenCount: 16
    },
    modelVersion: model,
    createTime: '2026-11-27T08:00:00.125Z',
    responseId: 'x2kRaYz4CMKkz7IPhZ2iqAI'
  }])
}

/** Source: @anthropic-ai/vertex-sdk 1.1.3: the model is in the path, the version in the body. */
function claude (
  request: UpstreamRequest,
  { model, isStream }: { model: string, isStream: boolean },
  queued: () => Script | undefined
): Script {
  const { model: stated, anthropic_version: version, ...body } = request.body ?? {}
  if (typeof version !== 'string') return refusal(400, { message: 'anthropic_version: Field required' })
  if (!/^(vertex-2023-10-16|20\d\d-\d\d-\d\d)$/.test(version)) return refusal(400, { message: 'anthropic_version: Input should be known' })
  if (model === 'count-tokens') {
    if (typeof stated !== 'string') return refusal(400, { message: 'model: Field required' })
    return queued() ?? document('{"input_tokens":25}')
  }
  if (stated !== undefined) return refusal(400, { message: 'model: Extra inputs are not permitted' })
  if ((body.stream === true) !== isStream) return refusal(400, { message: 'stream: does not match the method' })
  const whole = { ...body, model: model.replace(/@.*/, '') }
  const complaint = complaintAbout(whole, sign)
  if (complaint !== null) return refusal(400, { message: complaint })
  const script = queued() ?? reply({ said: ['Hello from Claude.'] })
  return exchange => script({ ...exchange, request: { ...request, body: whole } })
}

function imagen ({ body }: UpstreamRequest, queued: () => Script | undefined): Script {
  const { instances, parameters } = Object(body)
  const { sampleCount, seed, addWatermark } = Object(parameters)
  if (typeof instances?.[0]?.prompt !== 'string') return problem(400, 'INVALID_ARGUMENT', 'Prompt is missing.')
  if (!(sampleCount >= 1 && sampleCount <= 4)) return problem(400, 'INVALID_ARGUMENT', 'sampleCount must be from 1 to 4.')
  if (seed !== undefined && addWatermark !== false) {
    return problem(400, 'INVALID_ARGUMENT', 'Seed is not supported when watermark is enabled.')
  }
  const predictions = Array.from({ length: sampleCount }, () => ({ bytesBase64Encoded: pixel, mimeType: 'image/png' }))
  return queued() ?? document(JSON.stringify({ predictions }))
}

export const film = readFileSync(new URL('../../services/providers/sandbox/films/480x480.mp4', import.meta.url))
const video = { bytesBase64Encoded: film.toString('base64'), mimeType: 'video/mp4' }
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

function openModel ({ body }: UpstreamRequest, queued: () => Script | undefined): Script {
  if (!/^[\w-]+\/[\w.-]+$/.test(String(body?.model))) return problem(400, 'INVALID_ARGUMENT', 'Malformed publisher model.')
  return queued() ?? completion({ text: 'Hello from Llama.', usage: { prompt: 10, completion: 5 } })
}

/** Two models on a page. */
function listModels (publisher: string, token: string | null): Script {
  const names = listed[publisher] ?? []
  const start = Number(token ?? 0)
  const publisherModels = names.slice(start, start + 2).map(name => ({ name: `publishers/${publisher}/models/${name}`, versionId: 'default' }))
  const next = start + 2 < names.length ? { nextPageToken: String(start + 2) } : {}
  return document(JSON.stringify({ publisherModels, ...next }))
}
