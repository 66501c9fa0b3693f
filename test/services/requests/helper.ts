import { breakerDefaults, requestsDefaults } from '../../../services/config/defaults.ts'
import type { Candidate } from '../../../services/requests/candidates.ts'
import type { DeploymentConfig, Price } from '../../../services/catalogue/types.ts'
import { createDeployments } from '../../../services/deployments/deployments.ts'
import { UpstreamError, type Sent, type UpstreamErrorKind } from '../../../services/shared/errors.ts'
import type { ChatProvider } from '../../../services/providers/provider.ts'
import { modelFromCatalogue } from '../../../services/catalogue/models.ts'

export const limits = { ...requestsDefaults, retries: 2, backoffMs: 100 }

const deployments = createDeployments({ config: () => ({ breaker: breakerDefaults }) })
let made = 0

/** A deployment that was not called yet. */
export function candidate (
  deployment: Partial<DeploymentConfig> = {}, price: Price | null = null
): Candidate {
  const provider: ChatProvider = {
    id: `provider-${made++}`,
    chat: () => { throw new Error('nobody is called here') },
    close: async () => {}
  }
  const full = { provider: provider.id, model: 'm', weight: 1, priority: 0, ...deployment }
  return { model: modelFromCatalogue(provider.id, 'm'), deployment: full, provider, price, health: deployments.of(full) }
}

/** A failure of a kind, by default one that an answer with an error status tells of. */
export function failure (
  kind: UpstreamErrorKind, details: ConstructorParameters<typeof UpstreamError>[3] = { status: 500 }, sent: Sent = 'yes'
): UpstreamError {
  return new UpstreamError(kind, sent, 'It failed.', details)
}
