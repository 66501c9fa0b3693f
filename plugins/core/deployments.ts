import fp from 'fastify-plugin'
import { breakerDefaults } from '../../schemas/config/requests.ts'
import { createDeployments, type Deployments } from '../../services/deployments/deployments.ts'
import { createProber } from '../../services/deployments/probe.ts'
import { createSharing } from '../../services/deployments/share.ts'
import { showDeployments } from '../../services/observability/metrics/gateway.ts'
import { createIds } from '../../services/shared/ids.ts'
import { periodically } from '../../services/shared/periodically.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Which deployments work and how fast, as this node and the others have seen them. */
    deployments: Deployments
  }
}

interface DeploymentsOptions {
  /** How often nodes tell each other what they have measured. */
  shareEveryMs?: number
}

/** Keeps what is known of deployments, shares it between nodes, and probes them where that is wanted. */
export default fp<DeploymentsOptions>(async (app, { shareEveryMs = 3000 }) => {
  const options = () => app.models.config().breaker ?? breakerDefaults
  const deployments = createDeployments({ breaker: options })
  app.decorate('deployments', deployments)
  showDeployments(app.metrics, deployments)

  const sharing = createSharing({ store: app.store, deployments, node: createIds('node_')() })
  const prober = createProber({ deployments, provider: id => app.providers.get(id) })
  const work = [
    periodically(() => shareEveryMs, () => sharing.exchange(),
      err => app.log.warn({ err }, 'the statistics of deployments could not be shared')),
    periodically(() => options().probeEveryMs, signal => prober.probe(signal),
      err => app.log.error(err, 'the providers could not be probed'))
  ]
  app.addHook('onClose', async () => { await Promise.all(work.map(one => one.stop())) })
}, { name: 'deployments', dependencies: ['models', 'providers', 'store', 'metrics'] })
