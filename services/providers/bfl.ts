import { UpstreamError } from '../shared/errors.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { fanOut } from './image-api/fan-out.ts'
import { onlyFields } from './image-api/fields.ts'
import type { ImageAnswer, ImageCall, ImageProvider } from './provider-image.ts'
import type { Upstream } from './provider.ts'
import { createJsonClient, type JsonClient } from './image-api/json-client.ts'
import { imageFromUrl } from './image-api/generated-image.ts'
import { poll } from '../upstream/poll.ts'
import type { Connection } from '../upstream/exchange.ts'
import { reportedCost } from './report.ts'

const pace = { firstMs: 200, longestMs: 1500, deadlineMs: 300_000 }
const creditNano = 10_000_000

/** Generates FLUX images: submit, then poll the URL in the response. Source: BFL API v1. */
export function createBflImages ({ baseUrl, connection, apiKey, headers, connect }: Upstream): ImageProvider {
  const clientOf = (connection: Connection): JsonClient =>
    createJsonClient({ connection, apiKey, headers }, { auth: apiKey => ({ 'x-key': apiKey }), refine })
  const client = clientOf(connection)
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '')

  function pollerOf (url: unknown): { client: JsonClient, path: string } {
    if (typeof url !== 'string' || !isTrustedPollingUrl(url, baseUrl)) {
      throw new UpstreamError('bad_reply', 'yes', 'The provider returned a polling URL on a foreign server.')
    }
    const { origin, pathname, search } = new URL(url)
    const isHome = origin === new URL(baseUrl).origin && pathname.startsWith(`${prefix}/`)
    return isHome
      ? { client, path: pathname.slice(prefix.length) + search }
      : { client: clientOf(connect(origin)), path: pathname + search }
  }

  async function generate (
    call: ImageCall, body: JsonObject, dropped: readonly string[]
  ): Promise<ImageAnswer> {
    const submitted = await client.post(`/${encodeURIComponent(call.model)}`, body, call.signal)
    const poller = pollerOf(submitted.polling_url)
    const readSample = async () => sampleIn(await poller.client.get(poller.path, call.signal))
    const sample = await poll(readSample, pace, call.signal)
    const costNano = reportedCost(submitted.cost, creditNano)
    return { images: [imageFromUrl(sample, null)], usage: null, costNano, dropped }
  }

  return call => {
    const { passed, dropped } = onlyFields(call.request, ['seed', 'output_format'])
    if (passed.output_format === 'webp') delete passed.output_format
    const body = { ...passed, prompt: call.request.prompt, ...call.size }
    return fanOut(call.count, 1, () => generate(call, body, dropped))
  }
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

function sampleIn ({ status, result }: JsonObject): string | null {
  if (status === 'Ready') {
    if (isObject(result) && typeof result.sample === 'string') return result.sample
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s response has no image.')
  }
  if (moderations.has(String(status))) {
    throw new UpstreamError('moderated', 'yes', `The provider blocked the request (${String(status)}).`)
  }
  if (failures.has(String(status))) throw new UpstreamError('bad_reply', 'yes', `The request ended with status ${String(status)}.`)
  return null
}

/** Reads BFL's validation errors, `{"detail": [{loc, msg}]}`. */
function refine (error: UpstreamError, body: unknown): UpstreamError {
  const [detail] = isObject(body) && Array.isArray(body.detail) ? body.detail.filter(isObject) : []
  return detail === undefined ? error : new UpstreamError(error.kind, 'yes', String(detail.msg), error.details)
}
