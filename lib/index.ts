import type { FastifyInstance } from 'fastify'
import type { GatewayFile } from './gateway-file.ts'
import { loadGateway } from './load.ts'
import type { GatewayOptions } from './options.ts'

// Their modules import nothing but types, so that every Node.js can load this one.
export { definePlugin, defineProvider, ProviderError } from '../services/extensions/types.ts'
export type * from '../services/extensions/types.ts'
export type { GatewayFile } from './gateway-file.ts'
export type { GatewayOptions } from './options.ts'

/** Returns the content of `gateway.yaml` as it is given, with its type. */
export function defineConfig (config: GatewayFile): GatewayFile {
  return config
}

/**
 * Creates a gateway: a Fastify server, ready for `inject`, `listen` and hooks of its caller, who closes it.
 * Rejects with an Error if the configuration is wrong, the database cannot be opened, or Node.js is too old.
 */
export async function createGateway (options: GatewayOptions = {}): Promise<FastifyInstance> {
  const { create } = await loadGateway()
  return await create(options)
}

/**
 * The gateway as a Fastify plugin: `app.register(tollgate, { prefix: '/ai', config })`. Its hooks, error
 * handler and responses to unmatched requests apply below its prefix only. Rejects as `createGateway` does.
 */
export async function tollgate (
  app: FastifyInstance, options: GatewayOptions & { prefix?: string }
): Promise<void> {
  const { embed } = await loadGateway()
  await embed(app, options)
}
