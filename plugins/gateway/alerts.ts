import fp from 'fastify-plugin'
import { reportAccountBudgets, reportKeyBudgets } from '../../services/operations/alerts/budgets.ts'
import { createAlertDelivery } from '../../services/operations/alerts/deliver.ts'
import { reportLowBalances } from '../../services/operations/alerts/low-balances.ts'
import { periodically } from '../../services/shared/timers.ts'
import { claimChore } from '../../services/store/chores.ts'

interface AlertsOptions {
  trustedOrigins: readonly string[]
  /** Interval at which one node checks budgets and balances. */
  everyMs?: number
}

/** Watches budgets and balances in the background, and sends alerts to the configured webhook. */
export default fp<AlertsOptions>(async (app, { trustedOrigins, everyMs = 5_000 }) => {
  const { store, log, metrics, models } = app
  const delivery = createAlertDelivery({ store, log, trustedOrigins })
  metrics.counter({ name: 'alert_attempts_total', help: 'Attempts to deliver an alert.', labels: ['outcome'] }, () => {
    const { delivered, failed, givenUp } = delivery.counts
    return Object.entries({ delivered, failed, given_up: givenUp })
      .map(([outcome, value]) => ({ labels: { outcome }, value }))
  })

  async function watch (signal: AbortSignal): Promise<void> {
    const { webhook, thresholds, lowBalanceNano } = models.config().alerts
    if (webhook === null) return
    if (await claimChore(store, 'alerts', everyMs)) {
      await reportLowBalances(store, lowBalanceNano)
      await reportKeyBudgets(store, thresholds)
      await reportAccountBudgets(store, thresholds)
    }
    await delivery.deliverDue(webhook, signal)
  }
  const watching = periodically(() => everyMs, watch, err => log.warn({ err }, 'alerts could not be checked or sent'))
  app.addHook('onClose', async () => {
    await watching.stop()
    await delivery.close()
  })
}, { name: 'alerts', dependencies: ['metrics', 'models', 'store'] })
