import type { Protocol } from '../../schemas/config.ts'
import type { ProviderConfig } from '../config/config.ts'
import { createConnection } from '../connection.ts'
import type { Deadlines } from '../deadlines.ts'
import { dialects } from './dialects.ts'
import { createOpenAI } from './openai.ts'
import type { Connection, Provider } from './provider.ts'
import { createSandbox } from './sandbox/sandbox.ts'

type Connect = (config: ProviderConfig, deadlines: Deadlines) => Provider

/** What speaks each protocol: one row per file of this folder. */
export const protocols: Readonly<Record<Protocol, Connect>> = {
  openai: (config, deadlines) => {
    const { id, apiKey, headers } = config
    const dialect = dialects[config.dialect]
    if (dialect === undefined) throw new RangeError(`There is no dialect called ${config.dialect}.`)
    return createOpenAI({ id, dialect, apiKey, headers, connection: open(config, deadlines) })
  },
  sandbox: ({ id }) => createSandbox({ id })
}

function open ({ baseUrl, timeouts, maxConnections }: ProviderConfig, deadlines: Deadlines): Connection {
  return createConnection({ baseUrl, timeouts, maxConnections, deadlines })
}
