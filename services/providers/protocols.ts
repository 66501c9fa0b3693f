import type { Protocol } from '../../schemas/config.ts'
import type { ProviderConfig } from '../config/config.ts'
import { createConnection } from '../connection.ts'
import type { Deadlines } from '../deadlines.ts'
import { dialects, type Dialect } from './dialects.ts'
import { createOpenAI } from './openai.ts'
import type { Connection, Provider } from './provider.ts'
import { createSandbox } from './sandbox/sandbox.ts'
import { videoMakers, type VideoForm } from './video-makers.ts'

type Connect = (config: ProviderConfig, deadlines: Deadlines) => Provider

/** What speaks each protocol: one row per file of this folder. */
export const protocols: Readonly<Record<Protocol, Connect>> = {
  openai: (config, deadlines) => {
    const { id, apiKey, headers } = config
    const dialect = dialects[config.dialect]
    if (dialect === undefined) throw new RangeError(`There is no dialect called ${config.dialect}.`)
    const provider = createOpenAI({ id, dialect, apiKey, headers, connection: open(config, deadlines) })
    if (dialect.videos === null) return provider
    const baseUrl = videosUrl(config, dialect)
    return together(provider, videosOnly(dialect.videos)({ ...config, baseUrl }, deadlines))
  },
  sandbox: ({ id }) => createSandbox({ id }),
  fal: videosOnly('fal'),
  kling: videosOnly('kling'),
  luma: videosOnly('luma'),
  minimax: videosOnly('minimax'),
  replicate: videosOnly('replicate'),
  runway: videosOnly('runway'),
  seedance: videosOnly('seedance'),
  veo: videosOnly('veo'),
  wan: videosOnly('wan')
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

function open ({ baseUrl, timeouts, maxConnections }: ProviderConfig, deadlines: Deadlines): Connection {
  return createConnection({ baseUrl, timeouts, maxConnections, deadlines })
}
