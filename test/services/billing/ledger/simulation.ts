import type { Timers } from '../../../../services/shared/timers.ts'
import { StoreUnavailable } from '../../../../services/store/store.ts'
import type { Store } from '../../../../services/store/store.ts'

interface Due { atMs: number, work: () => void }

/** Time that passes only by `advance`. */
export interface SimulatedTime {
  /** What has to be quiet before time goes on; the network of a store. */
  network: { quiet (): Promise<void> }
  /** Since the beginning, in ms. */
  now (): number
  /** The clock of the database, in ms since 1970. */
  clock (): number
  /** The clock and timers of one node, which run `rate` times as fast. */
  clocksOf (node: { rate?: number }): NodeClocks
  /** Lets time pass; whatever is due is done in its order, and awaited. */
  advance (ms: number): Promise<void>
}

export interface NodeClocks {
  monotonic: () => number
  timers: Timers
  /** From now on nothing that this node has planned happens: it is dead. */
  stop (): void
}

const epochMs = 1_800_000_000_000

/** Creates a time at which nothing has happened yet. */
export function createTime (): SimulatedTime {
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
    network: {
      // A few turns of the event loop are enough without a database.
      async quiet () { for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate) }
    },
    now: () => nowMs,
    clock: () => epochMs + Math.round(nowMs),

    clocksOf ({ rate = 1 }) {
      let stopped = false
      const after = (delayMs: number, work: () => void) => {
        const planned = { atMs: nowMs + delayMs / rate, work: () => { if (!stopped) work() } }
        due.add(planned)
        return () => { due.delete(planned) }
      }
      return {
        monotonic: () => nowMs * rate,
        timers: { after, inBackground: after },
        stop: () => { stopped = true }
      }
    },

    async advance (ms) {
      const untilMs = nowMs + ms
      await this.network.quiet()
      for (let each = next(untilMs); each !== undefined; each = next(untilMs)) {
        due.delete(each)
        nowMs = Math.max(nowMs, each.atMs)
        each.work()
        await this.network.quiet()
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
 * called before every statement: so may a request come in the middle of a transaction or between the
 * statements of a commit. Where an answer gets lost, that of what only reads comes through.
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
      const through = <T>(work: () => Promise<T>, isRead = false) => counted(async () => {
        const { weather } = node
        if (weather === 'away') throw new StoreUnavailable(new Error('away'))
        const result = await work()
        if (weather === 'answer lost' && !isRead) throw new StoreUnavailable(new Error('answer lost'))
        return result
      })
      const statement = <T>(work: () => Promise<T>, sql?: string) => {
        between()
        return through(work, sql !== undefined && !/commit_ledger/.test(sql))
      }
      const node: NodeStore = {
        engine: store.engine,
        reports: store.reports,
        clock: store.clock,
        weather: 'well',
        all: <Row>(...args: Parameters<Store['all']>) => statement(() => store.all<Row>(...args), args[0]),
        get: <Row>(...args: Parameters<Store['get']>) => statement(() => store.get<Row>(...args), args[0]),
        run: (...args) => statement(() => store.run(...args)),
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
