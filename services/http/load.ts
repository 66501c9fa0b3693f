import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { LoadLimits } from '../config/settings/settings.ts'
import { GatewayError } from '../shared/errors.ts'

/** Counted per node and per key: requests, streams, long polls and bytes of bodies. */
export type LoadKind = 'requests' | 'streams' | 'polls' | 'bytes'

export type LoadCounts = Record<LoadKind, number>

/** The current load of one key on this node. */
export interface KeyLoad { readonly key: string, readonly counts: LoadCounts }

/**
 * The load shedder: bounds the current requests of this process, in total and per key.
 *
 *   arrived ── room, short delay ──► running ── returned function, `close` ──► ended
 *      └────── at a limit ─────────► shed (503)
 *
 * A limit is reached by the counts of the process, by the key's share of them (see `shareOfFree`), or by the
 * delay of the event loop.
 */
export interface Load {
  /** Whether the process, or one key, is at its limit. Cheap enough for every request. */
  isFull (kind: LoadKind, keyLoad?: KeyLoad | null): boolean
  /** Counts one more until the returned function is called; further calls have no effect. */
  enter (kind: LoadKind, keyLoad?: KeyLoad | null): () => void
  /** Like `enter`, but throws GatewayError 503 at the limit. */
  admit (kind: LoadKind, keyLoad?: KeyLoad | null): () => void
  /** Begins a request of a key; null if the key has used up its share. */
  open (key: string): KeyLoad | null
  /** Ends a request of a key. */
  close (keyLoad: KeyLoad): void
  /**
   * Counts `bytes` of a body that already has `taken` bytes. Throws GatewayError 503 at the limit; a lone
   * body always has room.
   */
  take (bytes: number, keyLoad: KeyLoad, taken: number): void
  /** Returns bytes of a body. */
  give (bytes: number, keyLoad: KeyLoad): void
  /** Counts a rejected request. */
  shed (): void
  readonly counts: Readonly<LoadCounts>
  readonly shedCount: number
  /** Recent delay of the event loop in ms. */
  lagMs (): number
  stop (): void
}

const sampleMs = 500
/** Coarse, because each measurement wakes an idle process. */
const resolutionMs = 50
/** When a rejected client may try again. */
export const retryAfterS = 2

/**
 * The share of one key, as a multiple of the free room: one key alone gets seven eighths of a node, each of
 * two keys seven fifteenths, and a new key always finds room. Source: Choudhury and Hahne, "Dynamic Queue
 * Length Thresholds for Shared-Memory Packet Switches", 1998.
 */
const shareOfFree = 7

/** Whether a key may add `amount` to its `keyCount`, if all keys together have `used` of `limit`. */
function isWithinShare (keyCount: number, used: number, limit: number, amount: number): boolean {
  return keyCount + amount <= shareOfFree * (limit - used)
}

function noLoad (): LoadCounts {
  return { requests: 0, streams: 0, polls: 0, bytes: 0 }
}

/**
 * Watches the load of the process. `lagOf` returns the event loop delay in ms; by default it is measured.
 * Long because its short methods share private state.
 */
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
      const current = keys.get(key)
      const keyLoad = current ?? { key, counts: noLoad() }
      // The request itself was counted before its key was known.
      const others = counts.requests - 1
      if (!isWithinShare(keyLoad.counts.requests, others, limits.requests, 1)) return null
      if (current === undefined) keys.set(key, keyLoad)
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

/** 503: this node is at its limits. Source of type and code: the live service. */
export function overloaded (): GatewayError {
  return GatewayError.unavailable('The gateway is overloaded. Please try again later.',
    { retryAfterS, code: 'server_is_overloaded' })
}
