import { LRUCache } from 'lru-cache'
import type { BreakerConfig, DeploymentConfig } from '../catalogue/types.ts'
import { createCircuitBreaker, type CircuitBreaker } from './circuit-breaker.ts'
import {
  createStatistics, defaultPrior, type DeploymentStatistics, type ExpectedPerformance, type PerformancePrior
} from './statistics.ts'

/** A model at a provider, by the provider's id and the provider's name for the model. */
export type DeploymentName = Pick<DeploymentConfig, 'provider' | 'model'>

/** Health and speed of one deployment as this node knows them. */
export interface Deployment {
  readonly name: DeploymentName
  readonly breaker: CircuitBreaker
  readonly statistics: DeploymentStatistics
  /** Requests of this node that it works on now, streams until their end. */
  calls: number
}

interface DeploymentsOptions {
  /** Read for each call: it may change. */
  config: () => { breaker: BreakerConfig }
  clock?: () => number
  monotonic?: () => number
  random?: () => number
}

/** Clients can make up names of models; the least recently used are evicted. */
const maxDeployments = 5000

export type Deployments = ReturnType<typeof createDeployments>

/** Creates the health and speed of the deployments called recently. */
export function createDeployments ({
  config, clock = Date.now, monotonic = () => performance.now(), random = Math.random
}: DeploymentsOptions) {
  const known = new LRUCache<string, Deployment>({ max: maxDeployments })
  const keyOf = ({ provider, model }: DeploymentName) => `${provider}/${model}`

  function create (name: DeploymentName): Deployment {
    const { provider, model } = name
    const created = {
      name: { provider, model },
      breaker: createCircuitBreaker({ config, random }),
      statistics: createStatistics(clock),
      calls: 0
    }
    known.set(keyOf(name), created)
    return created
  }

  return {
    of: (name: DeploymentName): Deployment => known.get(keyOf(name)) ?? create(name),
    /** The breaker is not open, and the provider did not ask for a pause. */
    isAvailable (name: DeploymentName): boolean {
      const found = known.peek(keyOf(name))
      return found === undefined || found.breaker.state(monotonic()) === 'ready'
    },
    /** Synchronous and without side effects. */
    expected (provider: string, model: string, prior: PerformancePrior = defaultPrior): ExpectedPerformance {
      const found = known.peek(`${provider}/${model}`)
      return found?.statistics.expected(prior) ?? { ...prior, errorRate: 0, calls: 0 }
    },
    list: (): Deployment[] => [...known.values()]
  }
}
