import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { breakerDefaults, requestsDefaults, blockDefaults } from '../../services/config/defaults.ts'
import { build } from '../../fastify.config.ts'
import type { GatewayConfig, ModelConfig, ProviderConfig } from '../../services/config/catalogue/types.ts'
import { configFromEnvironment } from '../../services/config/environment/environment.ts'
import type { TollgatePlugin } from '../../services/extensions/types.ts'
import { readSettings } from '../../services/config/settings/settings.ts'
import { modelFromCatalogue } from '../../services/config/catalogue/models.ts'
import { bootstrap } from '../../services/keys/bootstrap.ts'
import { generous } from './timeouts.ts'

type Line = Record<string, unknown>

const free = {
  inputPico: 0, outputPico: 0, cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null
}

export interface Gateway {
  app: FastifyInstance
  /** Base URL for an OpenAI client. */
  url: string
  key: string
  /** Headers of a JSON request with the key. */
  headers: Record<string, string>
  /** The lines logged so far. */
  readonly lines: Line[]
  /** Resolves with the first line that `matches`, now or later. */
  line (matches: (line: Line) => boolean): Promise<Line>
}

interface Teardown { teardown (work: () => unknown): void }

interface GatewayOptions {
  config?: GatewayConfig
  env?: NodeJS.ProcessEnv
  plugins?: readonly TollgatePlugin[]
  /** Registers additions to the gateway. */
  beforeReady?: (app: FastifyInstance) => PromiseLike<unknown>
}

/** A gateway with its store in memory, ready for `inject`; closed when the test ends. */
export async function buildGateway (t: Teardown, options: GatewayOptions = {}): Promise<Omit<Gateway, 'url'>> {
  const media = join(tmpdir(), `tollgate-test-${randomUUID()}`)
  t.teardown(() => rm(media, { recursive: true, force: true }))
  const env = {
    DATABASE_URL: 'sqlite::memory:',
    TOLLGATE_DISCOVER: 'off',
    TOLLGATE_DRAIN_SECONDS: '1',
    TOLLGATE_MEDIA: media,
    // A test that blocks the event loop must not cause load shedding.
    TOLLGATE_MAX_LAG_MS: '60000',
    ...options.env
  }
  const settings = readSettings(env, '/nonexistent')
  const log = createLog()
  const app = await build({
    settings,
    config: options.config ?? configFromEnvironment(env),
    logger: pino({ base: null }, log.stream),
    plugins: options.plugins ?? []
  })
  t.teardown(() => app.close())
  await options.beforeReady?.(app)
  await app.ready()
  const { store, keys, accounts } = app
  const first = await bootstrap({ store, keys, accounts, startingCreditNano: settings.startingCreditNano })
  const key = first?.key ?? ''
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return {
    app,
    key,
    headers,
    lines: log.lines,
    line: log.line
  }
}

/** The same, listening on a free port. */
export async function startGateway (t: Teardown, options: GatewayOptions = {}): Promise<Gateway> {
  const gateway = await buildGateway(t, options)
  const address = await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  return Object.assign(gateway, { url: `${address}/v1` })
}

/** A provider at `baseUrl`, by default of the plain compatible kind. */
export function providerAt (baseUrl: string, more: Partial<ProviderConfig> = {}): ProviderConfig {
  return {
    id: 'up',
    protocol: 'openai',
    dialect: 'compatible',
    baseUrl,
    apiKey: 'sk-upstream-secret',
    headers: {},
    timeouts: generous,
    maxConnections: 64,
    claims: [],
    discover: false,
    ...more
  }
}

/**
 * A configuration with one provider and the free public model `chat`, which is `gpt-5-nano` there. Nothing is
 * retried, so that a test sees the effect of each script of its upstream.
 */
export function configFor (provider: ProviderConfig, more: Partial<ModelConfig> = {}): GatewayConfig {
  const deployment = { provider: provider.id, model: 'gpt-5-nano', weight: 1, priority: 0 }
  const model = { ...modelFromCatalogue(provider.id, 'gpt-5-nano'), id: 'chat', deployments: [deployment], price: free, ...more }
  const requests = { ...requestsDefaults, retries: 0 }
  const breaker = { ...breakerDefaults, failures: 1000, minRequests: 1000 }
  return { ...blockDefaults, providers: [provider], models: [model], policies: [], requests, breaker }
}

const smallSize = '64x36'

/**
 * Polls videos of the sandbox as often as `polling` says, and makes them small and a second long by default.
 */
export function hastenVideos ({ app }: Pick<Gateway, 'app'>, polling: { minMs: number, maxMs: number }): void {
  const videos = app.providers.get('sandbox')?.videos
  if (videos === undefined) throw new Error('the sandbox makes no videos')
  Object.assign(videos.polling, polling)
  Object.assign(videos, { choices: () => ({ seconds: 1, size: smallSize, sound: 'never' }) })
  for (const { video } of app.models.config().models) {
    if (video === undefined) continue
    const { seconds, sizes } = video
    Object.assign(video, {
      seconds: seconds === null ? null : [1, ...seconds],
      defaultSeconds: 1,
      sizes: sizes === null ? null : [...sizes, smallSize],
      defaultSize: smallSize
    })
  }
}

function createLog () {
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  return {
    lines,
    stream: {
      write (text: string) {
        lines.push(JSON.parse(text))
        for (const look of waiting) look()
      }
    },
    line: (matches: (line: Line) => boolean) => new Promise<Line>(resolve => {
      const look = () => {
        const found = lines.find(matches)
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  }
}
