import fp from 'fastify-plugin'
import { watchStore } from '../../services/operations/observability/store-watch.ts'

export interface Readiness {
  isReady: boolean
  /** Why the node is not ready, or which failure may recover. */
  checks: { draining: boolean, database: 'ok' | 'away' | 'gone' }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether this node can serve requests now, from memory. */
    readiness (): Readiness
  }
}

interface HealthOptions {
  /** How long the database may be unavailable before the node is not ready. */
  storeGraceMs: number
  /** Interval of the database checks. */
  everyMs?: number
}

/**
 * Reports whether this node is ready. During a short outage of the database, nodes continue with cached keys
 * and allowances; if all became unready at once, no node would be left to serve requests.
 */
export default fp<HealthOptions>(async (app, { storeGraceMs, everyMs = 2000 }) => {
  const watch = watchStore({ store: app.store, everyMs })
  // A database that responds may reject writes.
  const awayMsNow = () => Math.max(watch.awayMs(), app.ledger.outageMs)
  app.decorate('readiness', () => {
    const awayMs = awayMsNow()
    const isGone = app.store.lost != null || awayMs >= storeGraceMs
    const database = isGone ? 'gone' : awayMs === 0 ? 'ok' : 'away'
    const draining = app.isDraining()
    return { isReady: !draining && database !== 'gone', checks: { draining, database } }
  })
  app.metrics.gauge({ name: 'ready', help: 'Whether this node can serve requests: 1 or 0.', across: 'min' },
    () => Number(app.readiness().isReady))
  app.metrics.gauge({ name: 'database_away_seconds', help: 'How long the database has been unavailable, or could not be written.', across: 'max' },
    () => awayMsNow() / 1000)
  app.addHook('onClose', async () => { await watch.stop() })
}, { name: 'health', dependencies: ['store', 'metrics', 'graceful-close', 'ledger'] })
