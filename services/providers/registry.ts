import type { Protocol } from '../../schemas/config/known-providers.ts'
import { anthropicPricing, fieldPricing } from '../config/catalogue/priced-fields.ts'
import type { ProviderConfig } from '../config/catalogue/types.ts'
import type { Download } from '../media/media.ts'
import { ownMember } from '../shared/json.ts'
import type { Deadlines } from '../shared/timers.ts'
import { createConnection } from './upstream/connection.ts'
import type { Connection } from './upstream/response.ts'
import { createAnthropic } from './anthropic/anthropic.ts'
import { bedrockParts } from './bedrock/bedrock.ts'
import { createBflImages } from './bfl.ts'
import { createFalImages } from './fal/images.ts'
import { createFalPrices } from './fal/prices.ts'
import { createFalVideos } from './fal/videos.ts'
import { createGemini } from './gemini/gemini.ts'
import { createGeminiImages } from './gemini/images.ts'
import { createGeminiVideos } from './gemini/videos.ts'
import { createVeoVideos } from './gemini/veo.ts'
import { createKlingVideos } from './kling.ts'
import { createLumaVideos } from './luma.ts'
import { createMiniMaxVideos } from './minimax.ts'
import { openaiParts } from './openai/openai.ts'
import type { Provider, ProviderParts, Upstream } from './provider.ts'
import { createQwenImages } from './qwen-image.ts'
import { createReplicateImages } from './replicate/images.ts'
import { createReplicateVideos } from './replicate/videos.ts'
import { createRunwayVideos } from './runway.ts'
import { generateSandboxImages } from './sandbox/images.ts'
import { createSandboxChat } from './sandbox/chat.ts'
import { createScript } from './sandbox/script.ts'
import { scriptedParts } from './sandbox/scripted-parts.ts'
import { createSandboxVideos } from './sandbox/videos.ts'
import { createSeedanceVideos } from './seedance.ts'
import { createSeedreamImages } from './seedream.ts'
import { vertexOpenParts, vertexParts } from './vertex/vertex.ts'
import { createWanVideos } from './wan.ts'

type Row = ProviderParts | ((config: ProviderConfig) => ProviderParts)

/** The protocols of plugins, by name. */
export type MoreProtocols = ReadonlyMap<string, Row>

/** What creates the chat, image and video parts of a provider, by protocol. */
const protocols: Readonly<Record<Protocol, Row>> = {
  openai: config => config.dialect === 'vertex' && config.apiKey === null ? vertexOpenParts(config) : openaiParts(config),
  anthropic: { chat: createAnthropic },
  gemini: { chat: createGemini, images: createGeminiImages, videos: createGeminiVideos },
  vertex: vertexParts,
  bedrock: bedrockParts,
  sandbox: ({ videoMs }) => ({
    chat: () => createSandboxChat(),
    images: () => generateSandboxImages,
    videos: () => createSandboxVideos({ durationMs: videoMs ?? undefined })
  }),
  bfl: { images: createBflImages },
  fal: { images: createFalImages, videos: createFalVideos, prices: createFalPrices },
  kling: { videos: createKlingVideos },
  luma: { videos: createLumaVideos },
  minimax: { videos: createMiniMaxVideos },
  replicate: { images: createReplicateImages, videos: createReplicateVideos },
  runway: { videos: createRunwayVideos },
  seedance: { images: createSeedreamImages, videos: createSeedanceVideos },
  veo: { videos: createVeoVideos },
  wan: { images: createQwenImages, videos: createWanVideos }
}

/** Opens a provider. `download` fetches files that clients name by URL; null: clients must send the bytes. */
export function createProvider (
  config: ProviderConfig, deadlines: Deadlines, download: Download | null = null,
  more: MoreProtocols = new Map()
): Provider {
  const { id, baseUrl, apiKey, headers, timeouts, maxConnections } = config
  const connections: Connection[] = []
  const row = ownMember<Row>(protocols, config.protocol) ?? more.get(config.protocol)
  if (row === undefined) throw new TypeError(`The provider ${id} has the unknown protocol ${config.protocol}.`)
  const own = typeof row === 'function' ? row(config) : row
  const script = config.script == null ? null : createScript(config.script)
  const { authorize, chat, images, videos, prices } = script === null ? own : scriptedParts(own, script)

  /** Each part has connections of its own, so that a download never keeps a chat waiting. */
  function open (): Upstream {
    const opened = new Map<string, Connection>()
    function connect (url: string): Connection {
      const known = opened.get(url)
      if (known !== undefined) return known
      const connection = createConnection({ baseUrl: url, timeouts, maxConnections, deadlines, authorize })
      opened.set(url, connection)
      connections.push(connection)
      return connection
    }
    const at = (baseUrl: string): Upstream => ({
      baseUrl, apiKey, headers, download, connect, at, get connection () { return connect(baseUrl) }
    })
    return at(baseUrl)
  }

  return {
    id,
    region: config.region ?? null,
    ...pricingOf(config),
    ...script !== null && { script },
    ...chat?.(open()),
    ...prices?.(open()),
    ...disconnectOf(config),
    images: images?.(open()),
    videos: videos?.(open()),
    close: async () => { await Promise.all(connections.map(connection => connection.close())) }
  }
}

/** Protocols that serve Claude with the fields of its own API. */
const messagesProtocols: ReadonlySet<string> = new Set(['anthropic', 'vertex', 'bedrock'])

function pricingOf (config: ProviderConfig): Pick<Provider, 'pricing'> {
  if (config.protocol === 'openai') return { pricing: fieldPricing(config) }
  return messagesProtocols.has(config.protocol) ? { pricing: anthropicPricing } : {}
}

/** What the operator says instead of the dialect. */
function disconnectOf ({ onDisconnect }: ProviderConfig): Pick<Provider, 'stopsOnDisconnect'> {
  return onDisconnect == null ? {} : { stopsOnDisconnect: onDisconnect === 'stop' }
}

export type Providers = ReturnType<typeof createProviders>

interface Connected { provider: Provider, origin: string | undefined, fingerprint: string }

/** The providers of the running configuration, none yet. `onError`: for connections that do not close. */
export function createProviders (
  deadlines: Deadlines, onError: (error: unknown) => void, download: Download | null = null,
  more?: MoreProtocols
) {
  let connected = new Map<string, Connected>()
  const closing = new Set<Promise<void>>()

  function retire ({ provider }: Connected): void {
    const closed = provider.close().catch(onError).finally(() => closing.delete(closed))
    closing.add(closed)
  }

  return {
    get: (id: string): Provider | undefined => connected.get(id)?.provider,
    /** The origin of a provider's base URL; undefined when it has none. */
    originOf: (id: string): string | undefined => connected.get(id)?.origin,
    /** Replaces the providers. Unchanged ones keep their connections; running calls finish. */
    apply (configs: readonly ProviderConfig[]): void {
      const next = new Map<string, Connected>()
      for (const config of configs) {
        const fingerprint = JSON.stringify(config)
        const before = connected.get(config.id)
        const provider = before?.fingerprint === fingerprint
          ? before.provider
          : createProvider(config, deadlines, download, more)
        const origin = URL.parse(config.baseUrl)?.origin
        next.set(config.id, { provider, origin, fingerprint })
      }
      const isRetired = ({ provider }: Connected) => next.get(provider.id)?.provider !== provider
      const retired = [...connected.values()].filter(isRetired)
      connected = next
      retired.forEach(retire)
    },
    /** Resolves when every call has finished and every connection is closed. */
    async close (): Promise<void> {
      for (const one of connected.values()) retire(one)
      connected = new Map()
      await Promise.all(closing)
    }
  }
}
