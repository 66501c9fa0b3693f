import type { Store } from '../store/store.ts'
import type { Deployments } from './deployments.ts'
import type { Measured } from './record.ts'
import { createStatements } from './statements.ts'
import type { StatisticsRow } from './statements.ts'

/** Lets nodes share their measurements through the store. */
export interface Sharing {
  /** Writes what has changed here and reads what others wrote. Throws StoreUnavailable. */
  exchange (): Promise<void>
}

interface SharingOptions {
  store: Store
  deployments: Deployments
  /** Another one for each life of a process: what an earlier life measured is heard as another node's. */
  node: string
  /** Milliseconds since 1970. */
  clock?: () => number
}

/** After so many half-lives nothing is left of a measurement. */
const keptMs = 45 * 60_000
const forgetEveryMs = 10 * 60_000

export function createSharing ({ store, deployments, node, clock = Date.now }: SharingOptions): Sharing {
  const statements = createStatements(store)
  let forgotAt = clock()

  async function write (): Promise<void> {
    const rows = deployments.list().flatMap(({ name, record }) => {
      const measured = record.take()
      return measured === null ? [] : [{ ...name, ...measured, sums: JSON.stringify(measured.sums) }]
    })
    if (rows.length > 0) await statements.write(node, rows)
  }

  async function read (): Promise<void> {
    const rows = await statements.readOthers(node, clock() - keptMs)
    const byDeployment = Map.groupBy(rows, ({ provider, model }) => `${provider}/${model}`)
    for (const [first, ...others] of byDeployment.values()) {
      if (first === undefined) continue
      const told = new Map([first, ...others].map(row => [row.node, toMeasured(row)]))
      deployments.of(first).record.hear(told)
    }
  }

  return {
    async exchange () {
      await write()
      await read()
      if (clock() - forgotAt < forgetEveryMs) return
      forgotAt = clock()
      await statements.forget(forgotAt - keptMs)
    }
  }
}

function toMeasured ({ at, count, sums }: StatisticsRow): Measured {
  return { at, count, sums: JSON.parse(sums) }
}
