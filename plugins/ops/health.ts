import fp from 'fastify-plugin'
import { watchStore } from '../../services/observability/store-watch.ts'

export interface Readiness {
  isReady: boolean
  /** Why not, or what is wrong but may pass. */
  checks: { draining: boolean, database: 'ok' | 'away' | 'gone' }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether this node can do useful work now. Asks nobody. */
    readiness (): Readiness
  }
}

interface HealthOptions {
  /** How long the database may be away before the node says that it is not ready. */
  storeGraceMs: number
  /** How often the database is asked. */
  everyMs?: number
}

/**
 * Knows whether this node is ready. While the database is away for a moment, nodes go on with the keys and
 * the money they know; if each said at once that it is not ready, nobody would be left to send requests to.
 */
export default fp<HealthOptions>(async (app, { storeGraceMs, everyMs = 2000 }) => {
  const watch = watchStore({ store: app.store, everyMs })
  app.decorate('readiness', () => {
    const awayMs = watch.awayMs()
    const database = awayMs === 0 ? 'ok' : awayMs < storeGraceMs ? 'away' : 'gone'
    const draining = app.isDraining()
    return { isReady: !draining && database !== 'gone', checks: { draining, database } }
  })
  app.metrics.gauge({ name: 'ready', help: 'Whether this node can do useful work: 1 or 0.' },
    () => Number(app.readiness().isReady))
  app.metrics.gauge({ name: 'database_away_seconds', help: 'For how long the database has not answered.' },
    () => watch.awayMs() / 1000)
  app.addHook('onClose', async () => { await watch.stop() })
}, { name: 'health', dependencies: ['store', 'metrics', 'graceful-close'] })
