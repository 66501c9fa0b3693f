import type { Test } from 'tap'
import type { ProviderConfig } from '../../../../services/config/catalogue/types.ts'
import { newProvider } from '../../../../services/config/new-provider.ts'
import { Deadlines } from '../../../../services/shared/timers.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import { createProvider } from '../../../../services/providers/registry.ts'
import type { VideoFile, VideoProvider, VideoTask } from '../../../../services/providers/provider-video.ts'
import { startVideoServer, type VideoServer } from '../../../servers/videos/server.ts'
import type { FakeVideoApi } from '../../../servers/videos/fake-api.ts'
import type { UpstreamResponse } from '../../../../services/providers/upstream/response.ts'
import { generous } from '../../../helpers/timeouts.ts'

/** Timeouts that a busy machine does not reach, and ones that a stalled response does. */
export const shortFirstByte = { ...generous, firstByteMs: 100 }
export const shortIdle = { ...generous, idleMs: 200 }

type Options = Parameters<typeof startVideoServer>[1] & { apiKey?: string }

/** A video provider connected to a fake server. The test fails if the server has recorded a fault. */
export async function connect (
  t: Test, api: FakeVideoApi, { apiKey = api.apiKey, ...options }: Options = {}
): Promise<{ server: VideoServer, provider: VideoProvider }> {
  const server = await startVideoServer(api, options)
  const provider = videoProviderAt(t, api, server.url, { apiKey })
  t.teardown(async () => {
    await server.close()
    if (server.faults.length > 0) throw new Error(`Faults: ${server.faults.join('; ')}`)
  })
  return { server, provider }
}

/** A video provider at a base URL. */
export function videoProviderAt (
  t: Test, api: FakeVideoApi, baseUrl: string, { apiKey = api.apiKey, timeouts = generous } = {}
): VideoProvider {
  const config = newProvider({ id: 'it', baseUrl, apiKey, timeouts, maxConnections: 8, ...speaking(api.protocol, apiKey) })
  const provider = createProvider(config, new Deadlines(10))
  t.teardown(() => provider.close())
  if (provider.videos === undefined) throw new Error('no video API')
  return provider.videos
}

function speaking (form: FakeVideoApi['protocol'], apiKey: string): Partial<ProviderConfig> {
  switch (form) {
    case 'vertex': return {
      protocol: form, apiKey: null, project: 'acme-prod', region: 'us-central1', credentials: credentialsFor(apiKey)
    }
    case 'openai': return { dialect: 'compatible' }
    case 'openrouter': case 'together': case 'xai': return { dialect: form }
    default: return { protocol: form }
  }
}

/** Credentials for a token; the response of their identity service is a data URL. */
export function credentialsFor (token: string): string {
  const response = JSON.stringify({ access_token: token, expires_in: 3600 })
  const user = { client_id: 'id', client_secret: 'secret', refresh_token: 'refresh' }
  return JSON.stringify({ type: 'authorized_user', ...user, token_uri: `data:application/json,${encodeURIComponent(response)}` })
}

const png = Buffer.from('iVBORw0KGgo=', 'base64')

/** Frames in a format that the provider accepts. */
export function framesFor ({ frames }: FakeVideoApi): Partial<VideoTask> {
  const address = { url: 'https://images.example/first.png' }
  const bytes = { bytes: new Uint8Array(png), mime: 'image/png' }
  const first = frames.picture === 'bytes' ? bytes : address
  const last = frames.picture === 'url' ? address : bytes
  return { firstFrame: first, lastFrame: frames.last ? last : null }
}

/** Sizes that a provider makes. */
export function sizesOf ({ wide = { width: 1280, height: 720 } }: FakeVideoApi) {
  return { wide, tall: { width: wide.height, height: wide.width } }
}

/** The name of an API in tests: a provider may have several. */
export const nameOf = ({ protocol, model }: FakeVideoApi): string => `${protocol} ${model}`

export const lengthOf = ({ seconds = 8 }: FakeVideoApi): number => seconds

export const takesSeed = ({ protocol }: FakeVideoApi): boolean =>
  !['gemini', 'kling', 'luma', 'minimax', 'xai'].includes(protocol)

export function taskFor (api: FakeVideoApi, more: Partial<VideoTask> = {}): VideoTask {
  return {
    model: api.model,
    prompt: 'A cat walks.',
    seconds: lengthOf(api),
    size: sizesOf(api).wide,
    isSizeAsked: false,
    aspectRatio: null,
    seed: null,
    audio: true,
    firstFrame: null,
    lastFrame: null,
    submitKey: 'vid-0001',
    ...more
  }
}

/** Calls `find`, which the provider must have. */
export function find (provider: VideoProvider, task: VideoTask): Promise<string | null> {
  if (provider.find === undefined) throw new Error('no find')
  return provider.find(task, signal())
}

export const signal = (): AbortSignal => new AbortController().signal

/** The UpstreamError that rejects a promise. */
export async function failureOf (promise: Promise<unknown>): Promise<UpstreamError> {
  const error = await promise.then(() => null, error => error)
  if (error instanceof UpstreamError) return error
  throw error ?? new Error('no failure')
}

/** Downloads a file, public or not. */
export async function bytesOf (file: VideoFile | undefined): Promise<Buffer> {
  if (file === undefined) throw new Error('no file')
  if ('bytes' in file) return Buffer.from(file.bytes)
  if ('url' in file) return Buffer.from(await (await fetch(file.url)).arrayBuffer())
  const exchange: UpstreamResponse = await file.open(signal())
  const chunks: Buffer[] = []
  for await (const chunk of exchange) chunks.push(chunk)
  return Buffer.concat(chunks)
}
