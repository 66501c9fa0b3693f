import type { Deployments } from '../../deployments/deployments.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Store } from '../../store/store.ts'
import type { Job } from '../../videos/job.ts'
import type { Metrics, Reading } from './metrics.ts'

/** How many deployments are shown: those that were used last. */
const maxDeployments = 200

const stateValues = { ready: 0, paused: 1, open: 2 } as const

/** Shows which deployments work. */
export function showDeployments (metrics: Metrics, deployments: Pick<Deployments, 'list'>): void {
  metrics.gauge({
    name: 'breaker_state',
    help: 'Whether requests are sent to a deployment: 0 they are, 1 it asked for a pause, 2 its breaker is open.',
    labels: ['provider', 'model']
  }, () => {
    const nowMs = performance.now()
    return deployments.list().slice(0, maxDeployments).map(({ name, breaker }): Reading => {
      const { provider, model } = name
      return { labels: { provider, model }, value: stateValues[breaker.state(nowMs)] }
    })
  })
}

/** Shows the videos that are being made, by any node. */
export function showJobs (metrics: Metrics, store: Pick<Store, 'all'>): void {
  const description = { name: 'jobs', help: 'Jobs of all nodes that have not ended, by state.', labels: ['state'] }
  metrics.gauge(description, async () => {
    const rows = await store.all<{ state: string, count: number }>(`
      select state, cast(count(*) as bigint) as count from job where finished_at is null group by state`)
    return rows.map(({ state, count }): Reading => ({ labels: { state }, value: count }))
  })
}

/** Counts the videos that have come to their end, on the node that has brought them there; each once. */
export function countJobs ({ counter }: Metrics): (job: Pick<Job, 'state' | 'costNano'>) => void {
  const counts = new Map<string, number>()
  let costNano = 0
  counter({ name: 'jobs_ended_total', help: 'Jobs that this node has brought to their end, by how.', labels: ['state'] },
    () => [...counts].map(([state, value]): Reading => ({ labels: { state }, value })))
  counter({ name: 'jobs_cost_usd_total', help: 'What these jobs were charged, in US dollars.' }, () => costNano / 1e9)
  return job => {
    counts.set(job.state, (counts.get(job.state) ?? 0) + 1)
    costNano += job.costNano ?? 0
  }
}

/** Shows how the books are kept. `violations` is how often they were found not to add up. */
export function showLedger (metrics: Metrics, ledger: Ledger, violations: () => number): void {
  const { gauge, counter } = metrics
  gauge({ name: 'holds', help: 'Requests that hold money on this node.' }, () => ledger.openHoldCount)
  gauge({ name: 'ledger_unflushed', help: 'Settlements that are not on disk yet.' }, () => ledger.unflushedCount)
  counter({ name: 'ledger_overages_total', help: 'Requests that cost more than was held for them.' },
    () => ledger.overageCount)
  counter({ name: 'ledger_suspended_total', help: 'Requests that were settled too late to be charged.' },
    () => ledger.suspendedCount)
  counter({ name: 'ledger_lost_total', help: 'Settlements that the database refused for good.' },
    () => ledger.lostCount)
  counter({ name: 'ledger_violations_total', help: 'What the regular checks of the books found wrong.' }, violations)
}
