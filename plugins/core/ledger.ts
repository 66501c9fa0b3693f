import fp from 'fastify-plugin'
import { checkLedger } from '../../services/ledger/check.ts'
import { createLedger } from '../../services/ledger/create.ts'
import type { Ledger } from '../../services/ledger/ledger.ts'
import { showLedger } from '../../services/observability/metrics/gateway.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The money of all accounts; closed with the server, before the store. */
    ledger: Ledger
    /** Violations that the periodic checks of the books have found since the start. */
    ledgerViolations (): number
  }
}

const hourMs = 3_600_000

interface LedgerPluginOptions {
  checkEveryMs?: number
  /** How long a node is silent before others take over its jobs; the heartbeat is a fraction of it. */
  takeoverMs?: number | undefined
}

const maxHeartbeatMs = 3_000

/** Decorates `app.ledger`, and checks the books every hour. Violations are logged, never repaired. */
export default fp<LedgerPluginOptions>(async (app, { checkEveryMs = hourMs, takeoverMs = Infinity }) => {
  const options = { heartbeatMs: Math.min(maxHeartbeatMs, takeoverMs / 5) }
  const onWrite = app.metrics.histogram({
    name: 'ledger_flush_seconds',
    help: 'Time to commit a batch of the ledger.',
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
  })
  const ledger = createLedger({ store: app.store, log: app.log, options, onWrite })
  app.decorate('ledger', ledger)

  let found = 0
  async function check (): Promise<void> {
    try {
      const violations = await checkLedger(app.store)
      found += violations.length
      for (const violation of violations) app.log.error({ violation }, 'the books do not add up')
    } catch (error) {
      app.log.warn({ err: error }, 'the books could not be checked')
    }
  }
  app.decorate('ledgerViolations', () => found)
  showLedger(app.metrics, ledger, () => found)
  const timer = setInterval(check, checkEveryMs).unref()

  app.addHook('onClose', async () => {
    clearInterval(timer)
    await ledger.close()
  })
}, { name: 'ledger', dependencies: ['store', 'metrics'] })
