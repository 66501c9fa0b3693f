import { Counter, Gauge, type Registry } from 'prom-client'
import type { Supervisor } from './supervisor.ts'

/** Registers the numbers of a supervisor's workers. */
export function showSupervisor (registry: Registry, supervisor: Pick<Supervisor, 'running' | 'restarts'>): void {
  registry.registerMetric(new Gauge({
    name: 'tollgate_workers',
    help: 'Worker processes that serve requests.',
    registers: [],
    collect () { this.set(supervisor.running) }
  }))
  registry.registerMetric(new Counter({
    name: 'tollgate_worker_restarts_total',
    help: 'Worker processes that ended and were replaced.',
    registers: [],
    collect () {
      this.reset()
      this.inc(supervisor.restarts)
    }
  }))
}
