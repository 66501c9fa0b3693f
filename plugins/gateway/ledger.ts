import fp from 'fastify-plugin'
import { checkBooks } from '../../services/billing/ledger/check/check-books.ts'
import { rollUpViolations } from '../../services/operations/reports/check-roll-up.ts'
import { explanations } from '../../services/billing/ledger/check/explanations.ts'
import { createLedger } from '../../services/billing/ledger/create.ts'
import type { Ledger } from '../../services/billing/ledger/ledger.ts'
import { longestRequestMs } from '../../services/billing/ledger/options.ts'
import type { RequestsConfig } from '../../services/config/catalogue/types.ts'
import { showLedger, showSuspense } from '../../services/operations/observability/metrics/gateway.ts'
import { periodically } from '../../services/shared/timers.ts'
import { claimChore } from '../../services/store/chores.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The money of all accounts; closed with the server, before the store. */
    ledger: Ledger
    /** Violations found by the periodic checks of the books since the start. */
    ledgerViolations (): number
  }
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

interface LedgerPluginOptions {
  /** The time limits of requests; `allowRequests` announces longer ones. */
  requests: Pick<RequestsConfig, 'deadlineMs' | 'streamMs'>
  /** How often the books are checked, by one node for all. */
  checkEveryMs?: number
  /** Silence of a node after which others take over its jobs; the heartbeat is a fraction of it. */
  takeoverMs?: number | undefined
}

const maxHeartbeatMs = 3_000

/** Decorates `app.ledger`; once a day one node checks the books. Violations are logged, never repaired. */
export default fp<LedgerPluginOptions>(async (app, pluginOptions) => {
  const { requests, checkEveryMs = dayMs, takeoverMs = Infinity } = pluginOptions
  const options = { heartbeatMs: Math.min(maxHeartbeatMs, takeoverMs / 5) }
  const onWrite = app.metrics.histogram({
    name: 'ledger_flush_seconds',
    help: 'Time to commit a batch of the ledger.',
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
  })
  const ledger = createLedger({
    store: app.store, log: app.log, options, onWrite, requestMs: longestRequestMs(requests)
  })
  app.decorate('ledger', ledger)

  let found = 0
  // A node may not run for a day, so each looks every hour whether the last check was a day ago.
  const checks = periodically(() => Math.min(hourMs, checkEveryMs), async signal => {
    if (!await claimChore(app.store, 'ledger-check', 2 * checkEveryMs)) return
    const { violations } = await checkBooks(app.store, { signal, derived: rollUpViolations })
    found += violations.length
    for (const violation of violations) {
      app.log.error({ violation, ...explanations[violation.rule] }, 'the books do not add up')
    }
  }, err => app.log.warn({ err }, 'the books could not be checked'))
  app.decorate('ledgerViolations', () => found)
  showLedger(app.metrics, ledger, () => found)
  showSuspense(app.metrics, app.store)

  // Their clients retry at another node.
  app.addHook('preClose', async () => ledger.refuseWaiting())
  app.addHook('onClose', async () => {
    await checks.stop()
    await ledger.close()
  })
}, { name: 'ledger', dependencies: ['store', 'metrics', 'graceful-close'] })
