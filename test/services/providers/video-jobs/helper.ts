import type { Test } from 'tap'
import type { ProviderConfig } from '../../../../services/catalogue/types.ts'
import { newProvider } from '../../../../services/config/new-provider.ts'
import { Deadlines } from '../../../../services/shared/deadline-timer.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import { createProvider } from '../../../../services/providers/registry.ts'
import type { VideoFile, VideoProvider, VideoTask } from '../../../../services/providers/provider-video.ts'
import { startVideoServer, type VideoServer } from '../../../servers/videos/server.ts'
import type { Wire } from '../../../servers/videos/wire.ts'
import type { Exchange } from '../../../../services/upstream/exchange.ts'

/** Longer than a busy machine takes; and too short for who says nothing, or does not go on. */
const patient = { connectMs: 5_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 20_000 }
export const impatient = { ...patient, firstByteMs: 100 }
export const restless = { ...patient, idleMs: 200 }

type Options = Parameters<typeof startVideoServer>[1] & { apiKey?: string }

/** A maker that talks to a server of its provider's, which must have found no fault when the test ends. */
export async function connect (
  t: Test, wire: Wire, { apiKey = wire.apiKey, ...options }: Options = {}
): Promise<{ server: VideoServer, maker: VideoProvider }> {
  const server = await startVideoServer(wire, options)
  const maker = makerAt(t, wire, server.url, { apiKey })
  t.teardown(async () => {
    await server.close()
    if (server.faults.length > 0) throw new Error(`The server found fault: ${server.faults.join('; ')}`)
  })
  return { server, maker }
}

export function makerAt (
  t: Test, wire: Wire, baseUrl: string, { apiKey = wire.apiKey, timeouts = patient } = {}
): VideoProvider {
  const config = newProvider({ id: 'it', baseUrl, apiKey, timeouts, maxConnections: 8, ...speaking(wire.form) })
  const provider = createProvider(config, new Deadlines(10))
  t.teardown(() => provider.close())
  if (provider.videos === undefined) throw new Error('It makes no videos.')
  return provider.videos
}

function speaking (form: Wire['form']): Partial<ProviderConfig> {
  switch (form) {
    case 'openai': return { dialect: 'compatible' }
    case 'openrouter': case 'together': case 'xai': return { dialect: form }
    default: return { protocol: form }
  }
}

const png = Buffer.from('iVBORw0KGgo=', 'base64')

/** Pictures in the form that the provider takes. */
export function pictures ({ frames }: Wire): Partial<VideoTask> {
  const address = { url: 'https://pictures.example/first.png' }
  const bytes = { bytes: new Uint8Array(png), mime: 'image/png' }
  const first = frames.picture === 'bytes' ? bytes : address
  const last = frames.picture === 'url' ? address : bytes
  return { firstFrame: first, lastFrame: frames.last ? last : null }
}

export function taskFor (wire: Wire, more: Partial<VideoTask> = {}): VideoTask {
  return {
    model: wire.model,
    prompt: 'A cat walks.',
    seconds: null,
    size: null,
    aspectRatio: null,
    seed: null,
    audio: null,
    firstFrame: null,
    lastFrame: null,
    submitKey: 'vid-0001',
    ...more
  }
}

/** What `find` says; it has to be there. */
export function find (maker: VideoProvider, task: VideoTask): Promise<string | null> {
  if (maker.find === undefined) throw new Error('It cannot find jobs.')
  return maker.find(task, signal())
}

export const signal = (): AbortSignal => new AbortController().signal

/** The UpstreamError that a promise is rejected with. */
export async function failureOf (promise: Promise<unknown>): Promise<UpstreamError> {
  const error = await promise.then(() => null, error => error)
  if (error instanceof UpstreamError) return error
  throw error ?? new Error('It did not fail.')
}

/** All bytes of a file, whether it is public or not. */
export async function bytesOf (file: VideoFile | undefined): Promise<Buffer> {
  if (file === undefined) throw new Error('There is no file.')
  if ('url' in file) return Buffer.from(await (await fetch(file.url)).arrayBuffer())
  const exchange: Exchange = await file.open(signal())
  const chunks: Buffer[] = []
  for await (const chunk of exchange) chunks.push(chunk)
  return Buffer.concat(chunks)
}
