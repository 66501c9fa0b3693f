import fp from 'fastify-plugin'
import { countWaitingEntries, rollUpUsage } from '../../services/operations/reports/roll-up.ts'
import { periodically } from '../../services/shared/timers.ts'

const usualMs = 5_000

/** Adds new entries to the daily sums of usage every few seconds, with jitter, so that nodes drift apart. */
export default fp<{ everyMs?: number }>(async (app, { everyMs = usualMs }) => {
  const { store, log } = app
  const rollUp = periodically(
    () => everyMs * (1 - Math.random() / 10),
    async signal => { await rollUpUsage(store, { signal }) },
    err => log.warn({ err }, 'entries could not be added to the daily sums')
  )
  app.metrics.gauge({ name: 'usage_entries_waiting', help: 'Ledger entries not yet added to the daily sums.', across: 'max' },
    async () => await countWaitingEntries(store))
  app.addHook('onClose', async () => { await rollUp.stop() })
}, { name: 'usage-roll-up', dependencies: ['store', 'metrics'] })
