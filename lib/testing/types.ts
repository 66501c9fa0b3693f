import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { TollgatePlugin } from '../../services/extensions/types.ts'
import type { GatewayFile } from '../gateway-file.ts'
import type { Step } from './steps.ts'

/** The options of `testGateway`. */
export interface TestGatewayOptions {
  /**
   * The content of `gateway.yaml` or its path, for example that of production. Its providers play scripts; no
   * server is called. By default the models of OpenAI, Anthropic and Google with their prices.
   */
  config?: GatewayFile | string | undefined
  /** The plugins, as `createGateway` takes them. Their providers play scripts too. */
  plugins?: readonly TollgatePlugin[] | undefined
  /** The variables that `config` needs. */
  env?: Readonly<Record<string, string | undefined>> | undefined
  /** The credit of the account in USD; 10 by default. */
  credit?: number | undefined
}

/** The arguments of an SDK: `new OpenAI(gateway.client())`. */
export interface ClientOptions {
  baseURL: string
  apiKey: string
  /** Calls the gateway without a socket, and streams. */
  fetch: typeof fetch
}

/** A call of a provider. */
export interface ScriptedRequest {
  kind: 'chat' | 'image' | 'video'
  provider: string
  /** The name of the model at the provider. */
  model: string
  /** The body in the form of OpenAI's API, as the gateway has decided to send it. */
  body: Record<string, unknown>
}

/** A model of the gateway. */
export interface ScriptedModel {
  /** Appends steps: the next calls of the model, at whichever provider, take one each. */
  script (steps: readonly Step[]): void
}

/** A gateway for one test, in memory and without a port. */
export interface TestGateway extends AsyncDisposable {
  /** The Fastify server, for hooks, routes, `listen` and its log. */
  readonly app: FastifyInstance
  /** The API key, whose account has the credit. */
  readonly key: string
  /** The base URL of `client`, without `/v1`. */
  readonly url: string
  /** A model by the name that clients use. Throws an Error if the gateway has none of that name. */
  model (name: string): ScriptedModel
  client (): ClientOptions
  /** Sends a request with the key, unless it has an `authorization` header. */
  inject (options: InjectOptions | string): Promise<LightMyRequestResponse>
  /** The calls of providers so far. */
  readonly requests: readonly ScriptedRequest[]
  /** Resolves with what the account has been charged, in USD, e.g. `'0.00042'`. */
  spent (): Promise<string>
  /** Closes the gateway. Rejects with an Error if a call had no step, so that the test fails. */
  close (): Promise<void>
}
