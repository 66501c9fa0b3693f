import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { LoadLimits } from '../config/settings/settings.ts'
import { GatewayError } from '../shared/errors.ts'

/** What is counted of a node and of each key: requests, streams, held polls, and bytes of bodies. */
export type LoadKind = 'requests' | 'streams' | 'polls' | 'bytes'

export type LoadCounts = Record<LoadKind, number>

/** What one key has under way on this node. */
export interface KeyLoad { readonly key: string, readonly counts: LoadCounts }

/** What this process has taken on, in total and for each key. */
export interface Load {
  /** Whether nothing more can be taken on now, or not for a key; a comparison or two. */
  isFull (kind: LoadKind, keyLoad?: KeyLoad | null): boolean
  /** Counts one more, until the function returned is called; calling it again changes nothing. */
  enter (kind: LoadKind, keyLoad?: KeyLoad | null): () => void
  /** The same, but throws GatewayError 503 when there is no room. */
  admit (kind: LoadKind, keyLoad?: KeyLoad | null): () => void
  /** Begins a request of a key; null when the key has its share. */
  open (key: string): KeyLoad | null
  /** Ends a request of a key. */
  close (keyLoad: KeyLoad): void
  /**
   * Counts bytes of a body, besides the `taken` bytes that it already has. Throws GatewayError 503 when there
   * is no room; the only body under way always has room.
   */
  take (bytes: number, keyLoad: KeyLoad, taken: number): void
  /** Counts them no longer. */
  give (bytes: number, keyLoad: KeyLoad): void
  /** Notes that a request was turned away. */
  shed (): void
  readonly counts: Readonly<LoadCounts>
  readonly shedCount: number
  /** How late the event loop was lately, in ms. */
  lagMs (): number
  stop (): void
}

const sampleMs = 500
/** Each sample wakes an idle process. */
const resolutionMs = 50
/** When a client that was turned away may try again. */
export const retryAfterS = 2

/**
 * The share of one key, as a multiple of the free room: one key alone gets seven eighths of a node, each of
 * two keys seven fifteenths, and a new key always finds room. Source: Choudhury and Hahne, "Dynamic Queue
 * Length Thresholds for Shared-Memory Packet Switches", 1998.
 */
const shareOfFree = 7

/** Whether a key may have `amount` more of a limit. It has `own`, and all keys together have `used`. */
function isWithinShare (own: number, used: number, limit: number, amount: number): boolean {
  return own + amount <= shareOfFree * (limit - used)
}

function noLoad (): LoadCounts {
  return { requests: 0, streams: 0, polls: 0, bytes: 0 }
}

/** Watches the load of the process. `lagOf` returns the event loop delay in ms; by default it is measured. */
export function createLoad (limits: LoadLimits, lagOf?: () => number): Load {
  const counts = noLoad()
  const keys = new Map<string, KeyLoad>()
  let shedCount = 0
  let lagMs = 0
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  const sampling = setInterval(() => {
    lagMs = Math.max(0, delay.mean / 1e6 - resolutionMs) || 0
    delay.reset()
  }, sampleMs).unref()
  const lagNow = lagOf ?? (() => lagMs)

  function hasRoom (kind: LoadKind, keyLoad: KeyLoad | null, amount = 1): boolean {
    if (counts[kind] + amount > limits[kind]) return false
    return keyLoad === null || isWithinShare(keyLoad.counts[kind], counts[kind], limits[kind], amount)
  }

  function refuse (): never {
    shedCount++
    throw overloaded()
  }

  const load: Load = {
    counts,
    get shedCount () { return shedCount },
    lagMs: lagNow,
    isFull: (kind, keyLoad = null) => !hasRoom(kind, keyLoad) || lagNow() > limits.lagMs,
    enter (kind, keyLoad = null) {
      counts[kind]++
      if (keyLoad !== null) keyLoad.counts[kind]++
      let isIn = true
      return () => {
        if (isIn) counts[kind]--
        if (isIn && keyLoad !== null) keyLoad.counts[kind]--
        isIn = false
      }
    },
    admit (kind, keyLoad = null) {
      return hasRoom(kind, keyLoad) ? load.enter(kind, keyLoad) : refuse()
    },
    open (key) {
      const known = keys.get(key)
      const keyLoad = known ?? { key, counts: noLoad() }
      // The request itself was counted before its key was known.
      const others = counts.requests - 1
      if (!isWithinShare(keyLoad.counts.requests, others, limits.requests, 1)) return null
      if (known === undefined) keys.set(key, keyLoad)
      keyLoad.counts.requests++
      return keyLoad
    },
    close (keyLoad) {
      keyLoad.counts.requests--
      if (keyLoad.counts.requests === 0) keys.delete(keyLoad.key)
    },
    take (bytes, keyLoad, taken) {
      if (counts.bytes > taken && !hasRoom('bytes', keyLoad, bytes)) refuse()
      counts.bytes += bytes
      keyLoad.counts.bytes += bytes
    },
    give (bytes, keyLoad) {
      counts.bytes -= bytes
      keyLoad.counts.bytes -= bytes
    },
    shed () { shedCount++ },
    stop () {
      clearInterval(sampling)
      delay.disable()
    }
  }
  return load
}

/** 503: this node has as much to do as it can. Source of type and code: the live service. */
export function overloaded (): GatewayError {
  return GatewayError.unavailable('The gateway is overloaded. Please try again later.',
    { retryAfterS, code: 'server_is_overloaded' })
}
