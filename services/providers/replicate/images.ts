import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { fanOut } from '../image-api/fan-out.ts'
import { pickFields } from '../image-api/fields.ts'
import type { ImageAnswer, ImageCall, ImageProvider } from '../provider-image.ts'
import { nearestRatio } from '../image-api/ratio.ts'
import { createJsonClient, type JsonClient } from '../image-api/json-client.ts'
import { imageAt } from '../image-api/generated-image.ts'
import { poll } from '../../upstream/poll.ts'
import type { Connection } from '../../upstream/exchange.ts'

interface ReplicateImagesOptions {
  connection: Connection
  apiKey: string | null
  headers: Record<string, string>
}

const pace = { firstMs: 200, longestMs: 2000, deadlineMs: 600_000 }
const cancelMs = 5000
/** How long the provider may hold the first answer back, in seconds; most images are ready by then. */
const waitS = 30

/**
 * Makes images by predictions of models named `owner/name`, or `owner/name:version`. Source: replicate 1.4,
 * and the input of the models that make most images there.
 */
export function createReplicateImages (
  { apiKey, headers, connection }: ReplicateImagesOptions
): ImageProvider {
  const auth: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }
  const client = createJsonClient({ connection, headers: { ...auth, ...headers }, apiKey })
  return call => {
    const { passed, dropped } = pickFields(call.request, ['seed', 'negative_prompt', 'output_format', 'output_compression'])
    const { output_format: format, output_compression: quality, ...input } = passed
    const options = {
      ...input,
      ...(format === undefined ? {} : { output_format: format === 'jpeg' ? 'jpg' : format }),
      ...(quality === undefined ? {} : { output_quality: quality })
    }
    return fanOut(call.count, 1, () => make(call, { ...options, ...inputOf(call) }, dropped, client))
  }
}

/** Some models are told the sides, some the nearest ratio; what one does not know it leaves alone. */
function inputOf ({ request, size }: ImageCall): JsonObject {
  return {
    prompt: request.prompt,
    ...(size === null ? {} : { ...size, aspect_ratio: nearestRatio(size, ratios) })
  }
}

const ratios = ['1:1', '16:9', '21:9', '3:2', '2:3', '4:5', '5:4', '3:4', '4:3', '9:16', '9:21']

async function make (
  { model, signal }: ImageCall, input: JsonObject, dropped: readonly string[], client: JsonClient
): Promise<ImageAnswer> {
  const [name = '', version] = model.split(':')
  const path = version === undefined ? `/models/${name.split('/').map(encodeURIComponent).join('/')}/predictions` : '/predictions'
  const body = version === undefined ? { input } : { input, version }
  const started = await client.post(path, body, signal, { prefer: `wait=${waitS}` })
  const ended = resultIn(started) ?? await watch(idOf(started), client, signal)
  const address = Array.isArray(ended.output) ? ended.output[0] : ended.output
  if (typeof address !== 'string') throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has no image.')
  return { images: [imageAt(address, null)], usage: null, costNano: null, dropped }
}

async function watch (id: string, client: JsonClient, signal: AbortSignal): Promise<JsonObject> {
  try {
    return await poll(async () => resultIn(await client.get(`/predictions/${id}`, signal)), pace, signal)
  } catch (error) {
    // It is not known whether it still runs; to cancel what has ended changes nothing.
    client.post(`/predictions/${id}/cancel`, {}, AbortSignal.timeout(cancelMs)).catch(() => {})
    throw error
  }
}

/** A prediction that succeeded; null while it runs. Throws UpstreamError for one that failed. */
function resultIn (prediction: JsonObject): JsonObject | null {
  const { status, error } = prediction
  if (status === 'succeeded') return prediction
  if (status === 'starting' || status === 'processing') return null
  const message = typeof error === 'string' && error !== '' ? error : `The provider's work ended as ${String(status)}.`
  const isModerated = /nsfw|safety|sensitive|flagged|moderat/i.test(message)
  throw new UpstreamError(isModerated ? 'moderated' : 'bad_reply', 'yes', message.slice(0, 2000))
}

function idOf ({ id }: JsonObject): string {
  // It becomes part of a path to which the key is sent.
  if (typeof id === 'string' && /^[\w-]{1,128}$/.test(id)) return id
  throw new UpstreamError('bad_reply', 'yes', 'The provider gave no prediction id.')
}
