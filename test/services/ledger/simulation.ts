import type { Timers } from '../../../services/shared/timers.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import type { Store } from '../../../services/store/store.ts'

interface Due { atMs: number, work: () => void }

/** Time that passes only by `advance`. */
export interface SimulatedTime {
  now (): number
  /** The clocks and timers of one node; its clock runs `rate` times as fast and is `offsetMs` ahead. */
  clocksOf (node: { rate?: number, offsetMs?: number }): NodeClocks
  /** Lets time pass; whatever is due is done in its order, and awaited as far as `network` carries it. */
  advance (ms: number): Promise<void>
}

export interface NodeClocks {
  clock: () => number
  monotonic: () => number
  timers: Timers
  /** From now on nothing that this node has planned happens: it is dead. */
  stop (): void
}

const epochMs = 1_800_000_000_000

/** Creates a time at which nothing has happened yet. `network` tells what is still under way. */
export function createTime (network: { quiet (): Promise<void> }): SimulatedTime {
  let nowMs = 0
  const due = new Set<Due>()

  function next (untilMs: number): Due | undefined {
    let first: Due | undefined
    for (const each of due) {
      if (each.atMs <= untilMs && (first === undefined || each.atMs < first.atMs)) first = each
    }
    return first
  }

  return {
    now: () => nowMs,

    clocksOf ({ rate = 1, offsetMs = 0 }) {
      let stopped = false
      const after = (delayMs: number, work: () => void) => {
        const planned = { atMs: nowMs + delayMs / rate, work: () => { if (!stopped) work() } }
        due.add(planned)
        return () => { due.delete(planned) }
      }
      return {
        clock: () => Math.round(epochMs + offsetMs + nowMs * rate),
        monotonic: () => nowMs * rate,
        timers: { after, inBackground: after },
        stop: () => { stopped = true }
      }
    },

    async advance (ms) {
      const untilMs = nowMs + ms
      await network.quiet()
      for (let each = next(untilMs); each !== undefined; each = next(untilMs)) {
        due.delete(each)
        nowMs = Math.max(nowMs, each.atMs)
        each.work()
        await network.quiet()
      }
      nowMs = untilMs
    }
  }
}

/** What a node's statements meet: all well, no database, or one whose answer gets lost. */
export type Weather = 'well' | 'away' | 'answer lost'

export interface NodeStore extends Store { weather: Weather }

/**
 * Creates ways to one store that fail as they are told to, and know when nothing is under way. `between` is
 * called before every statement of a transaction: so may a request come in the middle of it.
 */
export function createNetwork (store: Store, between: () => void = () => {}) {
  let underWay = 0

  async function counted<T> (work: () => Promise<T>): Promise<T> {
    underWay++
    try {
      return await work()
    } finally {
      underWay--
    }
  }

  return {
    /** Resolves when nothing is under way and nothing follows by itself. */
    async quiet (): Promise<void> {
      for (let turns = 0; turns < 2; turns++) {
        await new Promise(setImmediate)
        if (underWay > 0) turns = 0
      }
    },

    /** The store as one node sees it. */
    connect (): NodeStore {
      const through = <T>(work: () => Promise<T>) => counted(async () => {
        const { weather } = node
        if (weather === 'away') throw new StoreUnavailable(new Error('away'))
        const result = await work()
        if (weather === 'answer lost') throw new StoreUnavailable(new Error('answer lost'))
        return result
      })
      const node: NodeStore = {
        engine: store.engine,
        weather: 'well',
        all: <Row>(...args: Parameters<Store['all']>) => through(() => store.all<Row>(...args)),
        get: <Row>(...args: Parameters<Store['get']>) => through(() => store.get<Row>(...args)),
        run: (...args) => through(() => store.run(...args)),
        transaction: (work) => through(() => store.transaction((queries) => work({
          all: (...args) => { between(); return queries.all(...args) },
          get: (...args) => { between(); return queries.get(...args) },
          run: (...args) => { between(); return queries.run(...args) }
        }))),
        close: async () => {}
      }
      return node
    }
  }
}
