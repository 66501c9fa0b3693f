import type { Protocol } from '../../schemas/config/config.ts'
import type { ProviderConfig } from '../catalogue/types.ts'
import { createConnection } from '../upstream/connection.ts'
import type { Deadlines } from '../shared/deadline-timer.ts'
import type { Download } from '../media/media.ts'
import { createAnthropic, withVersion } from './anthropic/anthropic.ts'
import { createBflImages } from './bfl.ts'
import { dialects, type Dialect } from './openai/dialects.ts'
import { createFalImages } from './fal/images.ts'
import { createGeminiImages } from './gemini/images.ts'
import { createGemini } from './gemini/gemini.ts'
import type { ImageProvider } from './provider-image.ts'
import { createOpenAIImages } from './openai/images.ts'
import { createOpenAI } from './openai/openai.ts'
import type { Provider } from './provider.ts'
import { createReplicateImages } from './replicate/images.ts'
import { createSandbox } from './sandbox/sandbox.ts'
import { videoMakers, type VideoForm } from './video-jobs/registry.ts'
import type { Connection } from '../upstream/exchange.ts'

/** `download` fetches what clients name by address; without it nothing can be fetched. */
type Connect = (config: ProviderConfig, deadlines: Deadlines, download?: Download | null) => Provider

/** What speaks each protocol: one row per file of this folder. */
export const protocols: Readonly<Record<Protocol, Connect>> = {
  openai: (config, deadlines) => {
    const { id, apiKey, headers } = config
    const dialect = dialects[config.dialect]
    if (dialect === undefined) throw new RangeError(`There is no dialect called ${config.dialect}.`)
    const asked = { ...config, baseUrl: withQuery(config.baseUrl, dialect.query) }
    const chat = createOpenAI({ id, dialect, apiKey, headers, connection: open(asked, deadlines) })
    const provider = together(chat, imagesByDialect(dialect)(asked, deadlines))
    if (dialect.videos === null) return provider
    const baseUrl = videosUrl(config, dialect)
    return together(provider, videosOnly(dialect.videos)({ ...config, baseUrl }, deadlines))
  },
  anthropic: (config, deadlines) => {
    const { id, apiKey, headers } = config
    const connection = open({ ...config, baseUrl: withVersion(config.baseUrl) }, deadlines)
    return createAnthropic({ id, apiKey, headers, connection })
  },
  gemini: (config, deadlines, download = null) => {
    const { id, apiKey, headers } = config
    const chat = createGemini({ id, apiKey, headers, connection: open(config, deadlines), download })
    const provider = together(chat, imagesOnly(createGeminiImages)(config, deadlines))
    return together(provider, videosOnly('veo')(config, deadlines))
  },
  sandbox: ({ id, videoMs }) => createSandbox({ id, videoMs }),
  bfl: imagesOnly(createBflImages),
  fal: (...of) => together(imagesOnly(createFalImages)(...of), videosOnly('fal')(...of)),
  kling: videosOnly('kling'),
  luma: videosOnly('luma'),
  minimax: videosOnly('minimax'),
  replicate: (...of) => together(imagesOnly(createReplicateImages)(...of), videosOnly('replicate')(...of)),
  runway: videosOnly('runway'),
  seedance: videosOnly('seedance'),
  veo: videosOnly('veo'),
  wan: videosOnly('wan')
}

interface ImageOptions {
  baseUrl: string
  connection: Connection
  apiKey: string | null
  headers: Record<string, string>
  /** Opens a connection to another server of the same provider. */
  connect: (origin: string) => Connection
}

/**
 * A provider that makes images, over connections of its own: the first byte of an image comes when it is
 * finished, so that it may take as long as the whole answer.
 */
function imagesOnly (create: (options: ImageOptions) => ImageProvider): Connect {
  return ({ id, apiKey, headers, baseUrl, timeouts, maxConnections }, deadlines) => {
    const patient = { ...timeouts, firstByteMs: timeouts.totalMs }
    const connections = new Map<string, Connection>()
    const connect = (url: string): Connection => {
      const connection = connections.get(url) ??
        createConnection({ baseUrl: url, timeouts: patient, maxConnections, deadlines })
      connections.set(url, connection)
      return connection
    }
    return {
      id,
      images: create({ baseUrl, apiKey, headers, connect, connection: connect(baseUrl) }),
      close: async () => { await Promise.all([...connections.values()].map(one => one.close())) }
    }
  }
}

function imagesByDialect (dialect: Dialect): Connect {
  return (config, deadlines) => {
    const native = nativeGemini(config)
    if (native !== null) return imagesOnly(createGeminiImages)({ ...config, baseUrl: native }, deadlines)
    return imagesOnly(options => createOpenAIImages({ ...options, dialect }))(config, deadlines)
  }
}

/** Where Gemini's own API begins beside its OpenAI-compatible one, which makes no images; null: elsewhere. */
function nativeGemini ({ dialect, baseUrl }: ProviderConfig): string | null {
  return dialect === 'gemini' && baseUrl.endsWith('/openai') ? baseUrl.slice(0, -'/openai'.length) : null
}

/** A provider that makes videos. Its connections are its own: a download never keeps a chat waiting. */
function videosOnly (form: VideoForm): Connect {
  return (config, deadlines) => {
    const { id, apiKey, headers } = config
    const connection = open(config, deadlines)
    return { id, videos: videoMakers[form]({ apiKey, headers, connection }), close: () => connection.close() }
  }
}

function videosUrl ({ baseUrl }: ProviderConfig, { videosBase }: Dialect): string {
  const [end, instead] = videosBase ?? ['', '']
  return baseUrl.endsWith(end) ? baseUrl.slice(0, baseUrl.length - end.length) + instead : baseUrl
}

/** What two providers of one id can do, as one. */
function together (one: Provider, other: Provider): Provider {
  return { ...other, ...one, async close () { await Promise.all([one.close(), other.close()]) } }
}

/** What the operator has written in the URL goes before the dialect's own. */
function withQuery (baseUrl: string, query: Readonly<Record<string, string>>): string {
  const url = new URL(baseUrl)
  for (const [name, value] of Object.entries(query)) {
    if (!url.searchParams.has(name)) url.searchParams.set(name, value)
  }
  return url.href
}

function open ({ baseUrl, timeouts, maxConnections }: ProviderConfig, deadlines: Deadlines): Connection {
  return createConnection({ baseUrl, timeouts, maxConnections, deadlines })
}
