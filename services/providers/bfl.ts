import { UpstreamError } from '../shared/errors.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { fanOut } from './image-api/fan-out.ts'
import { onlyFields } from './image-api/fields.ts'
import { withoutQuality, type GeneratedImages, type ImageCall, type ImageProvider } from './provider-image.ts'
import type { Upstream } from './provider.ts'
import { createJsonClient, type JsonClient } from './image-api/json-client.ts'
import { reducedRatio } from './image-api/aspect-ratio.ts'
import { imageFromUrl } from './image-api/generated-image.ts'
import { masked } from './upstream/read-response.ts'
import { poll } from './upstream/poll.ts'
import type { Connection } from './upstream/response.ts'
import { reportedCost } from './reported-cost.ts'
import { urlPart } from './url-part.ts'

const pace = { firstMs: 200, longestMs: 1500, deadlineMs: 300_000 }
const creditNano = 10_000_000

/**
 * Generates FLUX images: submit, then poll the URL in the response. An image's address is good for 10
 * minutes. Source: npm @ai-sdk/black-forest-labs 2.0.41, 24 Nov 2026.
 */
export function createBflImages ({ baseUrl, connection, apiKey, headers, connect }: Upstream): ImageProvider {
  const clientOf = (connection: Connection): JsonClient =>
    createJsonClient({ connection, apiKey, headers }, { auth: apiKey => ({ 'x-key': apiKey }), refine })
  const client = clientOf(connection)
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '')

  function pollerOf ({ polling_url: url, id }: JsonObject): { client: JsonClient, path: string } {
    if (typeof url !== 'string' || !isTrustedPollingUrl(url, baseUrl)) {
      throw new UpstreamError('bad_reply', 'yes', 'The provider returned a polling URL on a foreign server.')
    }
    const parsed = new URL(url)
    if (!parsed.searchParams.has('id')) parsed.searchParams.set('id', String(id))
    const { origin, pathname, search } = parsed
    const isHome = origin === new URL(baseUrl).origin && pathname.startsWith(`${prefix}/`)
    return isHome
      ? { client, path: pathname.slice(prefix.length) + search }
      : { client: clientOf(connect(origin)), path: pathname + search }
  }

  async function generate (
    call: ImageCall, body: JsonObject, dropped: readonly string[]
  ): Promise<GeneratedImages> {
    const submitted = await client.post(`/${urlPart(call.model)}`, body, call.signal)
    const poller = pollerOf(submitted)
    const readSample = async () => sampleIn(await poller.client.get(poller.path, call.signal), apiKey)
    const { sample, cost } = await poll(readSample, pace, call.signal)
    const costNano = reportedCost(cost, creditNano) ?? reportedCost(submitted.cost, creditNano)
    return { images: [imageFromUrl(sample, null)], usage: null, costNano, dropped }
  }

  return withoutQuality(call => {
    const { passed, dropped } = onlyFields(call.request, ['seed', 'output_format'])
    if (passed.output_format === 'webp') delete passed.output_format
    const body = { ...passed, prompt: call.request.prompt, ...sizeFields(call) }
    return fanOut(call.count, 1, () => generate(call, body, dropped))
  })
}

/** FLUX.1 Kontext and Ultra have their own number of pixels, and take a ratio. */
function sizeFields ({ model, size }: ImageCall): JsonObject {
  if (size === null) return {}
  return /kontext|ultra/.test(model) ? { aspect_ratio: reducedRatio(size) } : { ...size }
}

/** Whether the key may be sent to a polling URL: on the configured server, or both within bfl.ai. */
export function isTrustedPollingUrl (url: string, baseUrl: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, origin, port, username, password } = new URL(url)
  const base = new URL(baseUrl)
  if (username !== '' || password !== '') return false
  if (origin === base.origin) return true
  return isBfl(base.hostname) && isBfl(hostname) && protocol === 'https:' && port === ''
}

function isBfl (hostname: string): boolean {
  return hostname === 'bfl.ai' || hostname.endsWith('.bfl.ai')
}

const moderations = new Set(['Request Moderated', 'Content Moderated'])
const failures = new Set(['Error', 'Failed', 'Task not found'])

/** The image's address and the final cost in credits if it is reported; null until the image is ready. */
function sampleIn (
  response: JsonObject, apiKey: string | null
): { sample: string, cost: unknown } | null {
  const { status = response.state, result, cost, details } = response
  if (status === 'Ready') {
    if (isObject(result) && typeof result.sample === 'string') return { sample: result.sample, cost }
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s response has no image.')
  }
  if (moderations.has(String(status))) {
    throw new UpstreamError('moderated', 'yes', `The provider blocked the request (${String(status)}).`)
  }
  if (failures.has(String(status))) {
    const why = typeof details === 'string' ? masked(details, apiKey) : `The request ended with status ${String(status)}.`
    throw new UpstreamError('bad_reply', 'yes', why)
  }
  return null
}

/** Reads BFL's validation errors, `{"detail": [{loc, msg}]}`. */
function refine (error: UpstreamError, body: unknown): UpstreamError {
  const [detail] = isObject(body) && Array.isArray(body.detail) ? body.detail.filter(isObject) : []
  return detail === undefined ? error : new UpstreamError(error.kind, 'yes', String(detail.msg), error.details)
}
