import type { FastifyBaseLogger } from 'fastify'
import type { TollgatePlugin } from '../services/extensions/types.ts'
import type { GatewayFile } from './gateway-file.ts'

/** The options of `createGateway`, and of the plugin `tollgate` besides those of `register`. */
export interface GatewayOptions {
  /**
   * The content of `gateway.yaml`, or the path of the file, which is read again when it changes. By default
   * the sandbox, and a provider for every API key in `env`.
   */
  config?: GatewayFile | string | undefined
  /**
   * Their hooks run in this order, before those of the plugins in `config`, whose paths are relative to its
   * file, else to the working directory.
   */
  plugins?: readonly TollgatePlugin[] | undefined
  /** `sqlite:<file>`, `sqlite::memory:` or `postgres://…`; `sqlite:./data/tollgate.db` by default. */
  database?: string | undefined
  /** The folder of images and videos, or `s3://bucket/prefix`; `./data/media` by default. */
  media?: string | undefined
  /** An admin key besides those in the database, for `/admin`. */
  adminKey?: string | undefined
  /** The public URL of the gateway, including its prefix; by default taken from the host of each request. */
  publicBaseUrl?: string | undefined
  /**
   * The environment variables of docs/settings.md, and those that `config` names. None by default.
   */
  env?: Readonly<Record<string, string | undefined>> | undefined
  /** By default `createGateway` logs nothing, and the plugin to the log of its server. */
  logger?: FastifyBaseLogger | undefined
  /** Called with the first API key, which is created in an empty database and cannot be shown again. */
  onFirstKey?: ((key: string) => void) | undefined
}
