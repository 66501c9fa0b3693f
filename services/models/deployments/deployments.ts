import type { BreakerConfig, DeploymentConfig } from '../../config/catalogue/types.ts'
import { createLru } from '../../shared/lru.ts'
import { createFailureCount, createGate, type Gate } from './breaker-parts.ts'
import {
  createStatistics, defaultPrior, type DeploymentStatistics, type ExpectedPerformance, type PerformancePrior
} from './statistics.ts'

/** A model at a provider, by the provider's id and the provider's name for the model. */
export type DeploymentName = Pick<DeploymentConfig, 'provider' | 'model'>

/** Health and speed of one deployment, measured on this node. */
export interface Deployment {
  readonly name: DeploymentName
  readonly breaker: CircuitBreaker
  readonly statistics: DeploymentStatistics
  /** Running requests of this node, streams until their end. */
  calls: number
  /** Whether a response has exceeded the context window or its output limit. */
  readonly exceeded: { window: boolean, output: boolean }
}

interface DeploymentsOptions {
  /** Read for each call, because the configuration may change. */
  config: () => { breaker: BreakerConfig }
  clock?: () => number
  monotonic?: () => number
  random?: () => number
}

/** Clients can invent names of models; the least recently used are evicted. */
const maxDeployments = 5000

export type Deployments = ReturnType<typeof createDeployments>

/** Creates the health and speed of the deployments called recently. */
export function createDeployments ({
  config, clock = Date.now, monotonic = () => performance.now(), random = Math.random
}: DeploymentsOptions) {
  const deployments = createLru<Deployment>(maxDeployments)
  const keyOf = ({ provider, model }: DeploymentName) => `${provider}/${model}`

  function create (name: DeploymentName): Deployment {
    const { provider, model } = name
    const created = {
      name: { provider, model },
      breaker: createCircuitBreaker({ config, random }),
      statistics: createStatistics(clock, () => config().breaker),
      calls: 0,
      exceeded: { window: false, output: false }
    }
    deployments.set(keyOf(name), created)
    return created
  }

  return {
    of: (name: DeploymentName): Deployment => deployments.get(keyOf(name)) ?? create(name),
    /** Whether the breaker is closed for an API key and no other deployment is preferred. */
    isAvailable (name: DeploymentName, key?: string): boolean {
      const found = deployments.peek(keyOf(name))
      return found === undefined || found.breaker.state(monotonic(), key) === 'ready'
    },
    /** Synchronous and without side effects. */
    expected (provider: string, model: string, prior: PerformancePrior = defaultPrior): ExpectedPerformance {
      const found = deployments.peek(`${provider}/${model}`)
      return found?.statistics.expected(prior) ?? { ...prior, errorRate: 0, calls: 0 }
    },
    list: (): Deployment[] => [...deployments.values()]
  }
}

/** The permission for one call, ended once by `succeeded`, `failed` or `release`. */
export interface Permit {
  readonly key: string
  readonly startedMs: number
  /** The breaker's state number at the start: results of calls from before the last change are ignored. */
  generation: number
  /** A trial: its result closes the breaker or opens it again. */
  probes: Gate | null
  /** One of the limited calls through an open breaker. */
  isLastWay: boolean
}

/** Time for which other deployments are preferred to a silent one before a trial call; it doubles. */
const silenceMs = 10_000
/** The longest delay of the trial by checks of the provider. */
const maxDeafMs = 300_000
const maxPauseMs = 60_000
/** Most concurrent calls of requests without alternative through an open breaker: of all keys, and of one. */
const maxLastWays = 8
const maxLastWaysOfKey = 2

/**
 * The circuit breaker of one deployment. Times are monotonic milliseconds.
 *
 *   ready ──429, slow or silent──► paused ──time over, or a response──► ready
 *   ready, paused ──too many failures──► open ──openMs──► half-open ──trial succeeds──► ready
 *                                         ▲                   │
 *                                         └────trial fails────┘ with twice the openMs
 *
 * `ready` admits every call. `paused` does too, but other deployments are preferred. `open` admits only a few
 * calls, of requests without alternative. `half-open` makes the next call the trial; while that runs, the
 * state is `open` for all others. If only one key has failed, the breaker is open only for that key, until
 * another key succeeds or fails as often.
 */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

/** Creates a closed breaker. Long because its short methods share private state. */
export function createCircuitBreaker (
  { config, random }: { config: () => { breaker: BreakerConfig }, random: () => number }
) {
  const failing = createGate(random)
  const slow = createGate(random)
  const silence = createGate(random)
  const failures = createFailureCount()
  const slownesses = createFailureCount()
  let generation = 0
  /** The key for which it is open; null for all keys. */
  let suspect: string | null = null
  let pause = { fromMs: -Infinity, untilMs: -Infinity }
  let silentFromMs = -Infinity
  let lastResponseMs = -Infinity
  const lastWays = new Map<string, number>()
  let lastWayCount = 0

  function open (nowMs: number, onlyFor: string | null): void {
    failing.open(nowMs, config().breaker.openMs, failures.worstKey())
    suspect = onlyFor
    generation++
    failures.clear()
  }

  function close (permit: Permit): void {
    failing.close()
    permit.generation = ++generation
  }

  const isOpenFor = (key: string): boolean => failing.isOpen && (suspect === null || suspect === key)

  function acquireLastWay (key: string): boolean {
    const ofKey = lastWays.get(key) ?? 0
    if (lastWayCount >= maxLastWays || ofKey >= maxLastWaysOfKey) return false
    lastWayCount++
    lastWays.set(key, ofKey + 1)
    return true
  }

  /** A response to any call that began during the silence ends it. */
  function hear ({ startedMs }: Permit, nowMs: number): void {
    lastResponseMs = nowMs
    if (startedMs >= silentFromMs) silence.close()
  }

  function end (permit: Permit): Gate | null {
    const { key, probes, isLastWay } = permit
    permit.probes = null
    if (!isLastWay) return probes
    permit.isLastWay = false
    lastWayCount--
    const ofKey = lastWays.get(key) ?? 0
    if (ofKey > 1) lastWays.set(key, ofKey - 1)
    else lastWays.delete(key)
    return probes
  }

  return {
    /** The state for a key, or for any key if absent. */
    state (nowMs: number, key?: string): 'ready' | 'paused' | 'open' {
      if (failing.holds(nowMs) && (key === undefined || isOpenFor(key))) return 'open'
      return nowMs < pause.untilMs || slow.holds(nowMs) || silence.holds(nowMs) ? 'paused' : 'ready'
    },

    waitMs: failing.waitMs,

    /**
     * Returns a permit for a call of a key, or null if no call may start. `isLastWay` is true if the request
     * has no other deployment.
     */
    acquire (nowMs: number, key: string, isLastWay = false): Permit | null {
      const permit: Permit = { key, startedMs: nowMs, generation, probes: null, isLastWay: false }
      if (isOpenFor(key)) {
        if (failing.probe(nowMs, key)) permit.probes = failing
        else if (isLastWay && acquireLastWay(key)) permit.isLastWay = true
        else return null
      } else if (silence.probe(nowMs)) {
        permit.probes = silence
      } else if (slow.probe(nowMs)) {
        permit.probes = slow
      }
      return permit
    },

    /** The response has begun; a stream may still break off. */
    responded (permit: Permit, nowMs: number, isSlow: boolean): void {
      const probes = end(permit)
      hear(permit, nowMs)
      // The deployment takes requests again.
      if (!isSlow && permit.startedMs >= pause.fromMs) pause = { ...pause, untilMs: -Infinity }
      const { breaker } = config()
      if (isSlow) {
        const isTooOften = slownesses.failed(permit.key, nowMs, breaker) !== 'no'
        if (probes === slow || (isTooOften && !slow.isOpen)) {
          slow.open(nowMs, breaker.openMs)
          slownesses.clear()
        }
      } else {
        slownesses.succeeded(permit.key, nowMs, breaker)
        if (probes === slow) slow.close()
      }
      if (permit.generation === generation && failing.isOpen) close(permit)
    },

    /** The provider works but rejects this request. */
    refused (permit: Permit, nowMs: number): void {
      const probes = end(permit)
      hear(permit, nowMs)
      if (probes === slow) slow.release()
      if (permit.generation === generation && failing.isOpen) close(permit)
      this.succeeded(permit, nowMs)
    },

    /** The response is complete. */
    succeeded (permit: Permit, nowMs: number): void {
      if (permit.generation === generation) failures.succeeded(permit.key, nowMs, config().breaker)
    },

    /**
     * Counts a failure. `isAnyKeys` is true if the request cannot be the reason, `isRepeated` if the request
     * has failed here before.
     */
    failed (permit: Permit, nowMs: number, { isAnyKeys = false, isRepeated = false } = {}): void {
      const wasLastWay = permit.isLastWay
      const probes = end(permit)
      if (probes === slow || probes === silence) probes.release()
      const key = isAnyKeys ? null : permit.key
      if (probes === failing && failing.isOpen) {
        if (isAnyKeys) suspect = null
        return failing.open(nowMs, config().breaker.openMs, key)
      }
      if (wasLastWay || isRepeated || permit.generation !== generation) return
      const tooMany = failures.failed(key, nowMs, config().breaker)
      // A second key has failed too.
      if (tooMany !== 'no') open(nowMs, tooMany === 'for all' || failing.isOpen ? null : key)
    },

    /** Ends a call without a result, e.g. because the client disconnected. */
    release (permit: Permit): void {
      end(permit)?.release()
    },

    /** Prefers other deployments until the time is over, or a later call succeeds. */
    pause (forMs: number, nowMs: number, maxMs = maxPauseMs): void {
      pause = { fromMs: nowMs, untilMs: Math.max(pause.untilMs, nowMs + Math.min(forMs, maxMs)) }
    },

    /**
     * A call that began at `startedMs` takes longer than usual. Without any response since then, new requests
     * prefer other deployments until `untilMs`, when the call is given up.
     */
    overdue (startedMs: number, untilMs: number, nowMs: number): void {
      if (lastResponseMs < startedMs && this.state(nowMs) === 'ready') pause = { fromMs: startedMs, untilMs }
    },

    /**
     * A call that began at `startedMs` was given up. Without any response since then, other deployments are
     * preferred until a periodic trial call succeeds.
     */
    silent (startedMs: number, nowMs: number): void {
      if (lastResponseMs >= startedMs || silence.holds(nowMs)) return
      silentFromMs = startedMs
      silence.open(nowMs, silenceMs)
    },

    get isSilent () { return silence.isOpen },

    /** The provider of a silent deployment does not respond at all: postpones the trial. */
    stillSilent (nowMs: number): void {
      if (nowMs - silentFromMs < maxDeafMs) silence.holdUntil(nowMs + silenceMs)
    },

    /** The provider of a silent deployment responds again: the next call is the trial. */
    trySilent: silence.halfOpen,

    trip (nowMs: number): void {
      if (!failing.holds(nowMs) || suspect !== null) open(nowMs, null)
    },

    halfOpen: failing.halfOpen
  }
}
