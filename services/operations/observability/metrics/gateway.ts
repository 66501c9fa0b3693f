import type { Deployments } from '../../../models/deployments/deployments.ts'
import type { Ledger } from '../../../billing/ledger/ledger.ts'
import { readOpenSuspense, type OpenSuspense } from '../../../billing/ledger/suspense.ts'
import type { ReportedCost } from '../../../requests/cost-watch.ts'
import type { Store } from '../../../store/store.ts'
import type { FaultyParty, Job } from '../../../videos/job.ts'
import type { Metrics, Reading } from './metrics.ts'

/** Only the most recently used deployments have metrics. */
const maxDeployments = 200

const stateValues = { ready: 0, paused: 1, open: 2 } as const

/** Registers the states of the circuit breakers. */
export function showDeployments (metrics: Metrics, deployments: Pick<Deployments, 'list'>): void {
  metrics.gauge({
    name: 'breaker_state',
    help: 'State of the circuit breaker of a deployment: 0 closed, 1 paused by the provider, 2 open.',
    labels: ['provider', 'model'],
    across: 'max'
  }, () => {
    const nowMs = performance.now()
    return deployments.list().slice(0, maxDeployments).map(({ name, breaker }): Reading => {
      const { provider, model } = name
      return { labels: { provider, model }, value: stateValues[breaker.state(nowMs)] }
    })
  })
}

/** Registers the number of unfinished jobs of all nodes. */
export function showJobs (metrics: Metrics, store: Pick<Store, 'all'>): void {
  const description = { name: 'jobs', help: 'Unfinished jobs of all nodes, by state.', labels: ['state'], across: 'max' } as const
  metrics.gauge(description, async () => {
    const rows = await store.all<{ state: string, count: number }>(`
      select state, cast(count(*) as bigint) as count from job where finished_at is null group by state`)
    return rows.map(({ state, count }): Reading => ({ labels: { state }, value: count }))
  })
}

/** Registers counters of the jobs that this node ended; returns the function that counts one. */
export function countJobs ({ counter }: Metrics): (job: Pick<Job, 'state' | 'costNano'>) => void {
  const counts = new Map<string, number>()
  let costNano = 0
  counter({ name: 'jobs_ended_total', help: 'Jobs that this node ended, by final state.', labels: ['state'] },
    () => [...counts].map(([state, value]): Reading => ({ labels: { state }, value })))
  counter({ name: 'jobs_cost_usd_total', help: 'Charges for these jobs in US dollars.' }, () => costNano / 1e9)
  return job => {
    counts.set(job.state, (counts.get(job.state) ?? 0) + 1)
    costNano += job.costNano ?? 0
  }
}

/** The cause and the kind of a failed copy. */
export interface CopyFailure { kind: 'image' | 'video', fault: FaultyParty }

/** Registers the counter of failed copies of images and videos; returns the function that counts one. */
export function countCopyFailures ({ counter }: Metrics): (failure: CopyFailure) => void {
  const counts = new Map<string, Reading>()
  counter({
    name: 'media_copy_failures_total',
    help: 'Failed attempts to store an image or video, by fault: media_store or provider.',
    labels: ['kind', 'fault']
  }, () => [...counts.values()])
  for (const kind of ['image', 'video']) {
    for (const fault of ['media_store', 'provider']) counts.set(`${kind} ${fault}`, { labels: { kind, fault }, value: 0 })
  }
  return ({ kind, fault }) => {
    const reading = counts.get(`${kind} ${fault}`)
    if (reading !== undefined) reading.value++
  }
}

/** Registers the amounts in suspense of all nodes; read at most once per `maxAgeMs`. */
export function showSuspense (metrics: Metrics, store: Pick<Store, 'reports'>, maxAgeMs = 60_000): void {
  let last = { atMs: -Infinity, open: Promise.resolve<OpenSuspense>({ count: 0, amountUsd: 0 }) }
  function read (): Promise<OpenSuspense> {
    const nowMs = performance.now()
    if (nowMs - last.atMs <= maxAgeMs) return last.open
    last = { atMs: nowMs, open: readOpenSuspense(store) }
    last.open.catch(() => { last.atMs = -Infinity })
    return last.open
  }
  const { gauge } = metrics
  gauge({ name: 'suspense_entries', help: 'Amounts in suspense that an operator has to clear or write off.', across: 'max' },
    async () => (await read()).count)
  gauge({ name: 'suspense_usd', help: 'Sum of the amounts in suspense, in US dollars.', across: 'max' },
    async () => (await read()).amountUsd)
}

/** Registers the metrics of the ledger; `violations` returns the number found by its checks. */
export function showLedger (metrics: Metrics, ledger: Ledger, violations: () => number): void {
  const { gauge, counter } = metrics
  gauge({ name: 'holds', help: 'Requests that hold money on this node.' }, () => ledger.openHoldCount)
  gauge({ name: 'ledger_waiting', help: 'Requests waiting for money that other requests hold.' }, () => ledger.waitingCount)
  gauge({ name: 'ledger_unflushed', help: 'Settlements that are not in the database yet.' }, () => ledger.unflushedCount)
  counter({ name: 'ledger_overages_total', help: 'Requests and jobs that cost more than their hold; the excess is in suspense.' },
    () => ledger.overageCount)
  counter({ name: 'ledger_suspended_total', help: 'Requests and jobs in suspense because they could not be charged.' },
    () => ledger.suspendedCount)
  counter({ name: 'ledger_lost_total', help: 'Settlements that could not be written before the gateway stopped; they are in its log.' },
    () => ledger.lostCount)
  counter({ name: 'ledger_violations_total', help: 'Violations found by the hourly checks of the books.' }, violations)
}

/** Registers the counter of unexpected costs that providers report; returns the function that counts one. */
export function countCostMismatches (
  { counter }: Metrics
): (cost: Pick<ReportedCost, 'provider' | 'model'>) => void {
  const counts = new Map<string, Reading>()
  counter({
    name: 'provider_cost_mismatch_total',
    help: 'Requests whose reported provider cost differed from the expected one.',
    labels: ['provider', 'model']
  }, () => [...counts.values()])
  return ({ provider, model }) => {
    const name = `${provider}\n${model}`
    const reading = counts.get(name) ?? { labels: { provider: provider ?? '', model }, value: 0 }
    reading.value++
    if (counts.has(name) || counts.size < maxDeployments) counts.set(name, reading)
  }
}
