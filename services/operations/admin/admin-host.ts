import type { GatewayConfig } from '../../config/catalogue/types.ts'
import type { Deployments } from '../../models/deployments/deployments.ts'
import type { Administration } from './administration.ts'
import type { UrlOfMedia } from './media.ts'
import type { ProbedProvider } from './provider-probe.ts'

/** The process in which an operation runs: a gateway, or a command beside it. */
export interface AdminHost {
  config (): Promise<GatewayConfig>
  /** Null in a command, which serves no requests. */
  deployments: Pick<Deployments, 'list'> | null
  /** Ids of the chat models that are refused because they have no price; none in a command. */
  unpriced (): string[]
  provider (id: string): ProbedProvider | undefined
  /** Writes pending rows of the request log of this process. */
  flushRequestLog (): Promise<void>
  /** Returns what signs the URLs of images and videos. */
  mediaUrls (): Promise<UrlOfMedia>
}

export interface HostedAdministration extends Administration { host: AdminHost }
