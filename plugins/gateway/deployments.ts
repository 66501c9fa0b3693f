import fp from 'fastify-plugin'
import { createDeployments, type Deployments } from '../../services/models/deployments/deployments.ts'
import { createProber } from '../../services/models/deployments/probe.ts'
import { createStatisticsExchange } from '../../services/models/deployments/share-statistics.ts'
import { showDeployments } from '../../services/operations/observability/metrics/gateway.ts'
import { createIds } from '../../services/shared/ids.ts'
import { periodically } from '../../services/shared/timers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Health and speed of the deployments, as measured by all nodes. */
    deployments: Deployments
  }
}

interface DeploymentsOptions {
  /** How often nodes exchange their measurements. */
  shareEveryMs?: number
  /** How often silent providers are checked. */
  checkSilentEveryMs?: number
}

/** Keeps health and speed of deployments, shares them between nodes, and probes providers if configured. */
export default fp<DeploymentsOptions>(async (app, { shareEveryMs = 3000, checkSilentEveryMs = 5000 }) => {
  const { config } = app.models
  const deployments = createDeployments({ config, clock: app.store.clock })
  app.decorate('deployments', deployments)
  showDeployments(app.metrics, deployments)

  const statistics = createStatisticsExchange({ store: app.store, deployments, node: createIds('node_')() })
  const prober = createProber({ deployments, provider: id => app.providers.get(id) })
  const work = [
    periodically(() => shareEveryMs, () => statistics.exchange(),
      err => app.log.warn({ err }, 'deployment statistics were not shared')),
    periodically(() => config().breaker.probeEveryMs, signal => prober.probe(signal),
      err => app.log.error(err, 'providers were not probed')),
    periodically(() => checkSilentEveryMs, signal => prober.checkSilent(signal),
      err => app.log.error(err, 'silent providers were not checked'))
  ]
  app.addHook('onClose', async () => { await Promise.all(work.map(one => one.stop())) })
}, { name: 'deployments', dependencies: ['models', 'providers', 'store', 'metrics'] })
