import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { connect, retryWhileBusy, type SqliteConnection } from './sqlite-connection.ts'
import { StoreUnavailable, type StoreProblem, type Value } from './store.ts'

/** A read, sent from the gateway's thread to the reports' thread. */
export interface ReportQuestion { method: 'all' | 'get', sql: string, params: readonly Value[] }

/** Its result: rows, or the data to rebuild the error. */
export type ReportResult = { rows: unknown[] } | {
  message: string
  problem: StoreProblem | null
  isRange: boolean
  details: Record<string, unknown>
}

const busyTimeoutMs = 5_000
const reportPriority = 10

// Requests have priority when the processor is busy. Only Linux has a priority per thread.
if (process.platform === 'linux') setPriority(reportPriority)

const path: string = workerData
let connection: SqliteConnection | null = null

parentPort?.on('message', async (question: ReportQuestion) => {
  parentPort?.postMessage(await runReport(question))
})

async function runReport ({ method, sql, params }: ReportQuestion): Promise<ReportResult> {
  try {
    return await retryWhileBusy(() => {
      connection ??= connect(path, { readOnly: true })
      const rows = method === 'all' ? connection.all(sql, params) : [connection.get(sql, params)]
      return { rows }
    }, busyTimeoutMs)
  } catch (error) {
    return describe(error)
  }
}

function describe (error: unknown): ReportResult {
  const isAway = error instanceof StoreUnavailable
  const cause = isAway ? error.cause : error
  const message = cause instanceof Error ? cause.message : String(cause)
  // The extra fields of an Error, which are lost when it is copied to another thread.
  const details = cause instanceof Error ? { ...cause } : {}
  return { message, problem: isAway ? error.problem : null, isRange: cause instanceof RangeError, details }
}
