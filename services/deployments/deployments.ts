import { LRUCache } from 'lru-cache'
import type { BreakerConfig, DeploymentConfig } from '../catalogue/types.ts'
import { rememberedText } from '../shared/memoize.ts'
import { createBreaker } from './breaker.ts'
import type { Breaker } from './breaker.ts'
import { createRecord } from './record.ts'
import type { MeasuredDeployment } from './record.ts'
import { defaultSeed } from './sums.ts'
import type { Expected, Seed } from './sums.ts'

/** A place where a model runs, by its provider and its name there. */
export type DeploymentName = Pick<DeploymentConfig, 'provider' | 'model'>

/** What is known of one deployment on this node. */
export interface Deployment {
  readonly name: DeploymentName
  readonly breaker: Breaker
  readonly record: MeasuredDeployment
}

/** The deployments that were called lately: whether they work, and how fast. */
export interface Deployments {
  /** What is known of one; it is remembered from now on. */
  of (name: DeploymentName): Deployment
  /** Whether requests may be sent there now: its breaker lets them pass, and it did not ask for a pause. */
  isAvailable (name: DeploymentName): boolean
  /** What to expect of a call now. Never waits, and changes nothing. */
  expected (provider: string, model: string, seed?: Seed): Expected
  /** All that are remembered, the last used first. */
  list (): Deployment[]
}

interface DeploymentsOptions {
  breaker: () => BreakerConfig
  /** Milliseconds since 1970. */
  clock?: () => number
  /** Milliseconds of a clock that is never set. */
  monotonic?: () => number
  /** From 0 up to, not including, 1. */
  random?: () => number
}

/** The longest unused are forgotten beyond that: clients can make up names of models. */
const maxDeployments = 5000

export function createDeployments ({
  breaker, clock = Date.now, monotonic = () => performance.now(), random = Math.random
}: DeploymentsOptions): Deployments {
  const known = new LRUCache<string, Deployment>({ max: maxDeployments })
  const keyOf = rememberedText<DeploymentName>(({ provider, model }) => `${provider}/${model}`)

  function create (name: DeploymentName): Deployment {
    const { provider, model } = name
    const created = {
      name: { provider, model },
      breaker: createBreaker({ options: breaker, random }),
      record: createRecord(clock)
    }
    known.set(keyOf(name), created)
    return created
  }

  return {
    of: name => known.get(keyOf(name)) ?? create(name),
    isAvailable (name) {
      const found = known.peek(keyOf(name))
      return found === undefined || found.breaker.standing(monotonic()) === 'ready'
    },
    expected (provider, model, seed = defaultSeed) {
      const found = known.peek(`${provider}/${model}`)
      return found?.record.expected(seed) ?? { ...seed, errorRate: 0, calls: 0 }
    },
    list: () => [...known.values()]
  }
}
