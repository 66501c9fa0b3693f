import type { Store } from '../../../store/store.ts'
import type { LoggedCall } from './request-log.ts'

/** One call of a provider by a recent request of any node. */
export interface RecentCall extends LoggedCall {
  request: string
  /** When its request ended, in milliseconds since 1970. */
  endedAt: number
}

const spanMs = 3_600_000
const maxRequests = 2_000

/** Reads the provider calls of the last hour, of at most the 2,000 latest requests, latest first. */
export async function readRecentCalls (
  { reports, clock }: Pick<Store, 'reports' | 'clock'>
): Promise<RecentCall[]> {
  // The inner query limits the rows by the primary key, independent of the index on time.
  const rows = await reports.all<{ request: string, at: number, calls: string | null }>(`
    select request, at, calls from (
      select request, at, calls from request_log order by seq desc limit ${maxRequests}) as latest
    where at >= $1 and calls is not null`, [clock() - spanMs])
  return rows.flatMap(({ request, at, calls }) => {
    const list: LoggedCall[] = JSON.parse(calls ?? '[]')
    return list.map(call => ({ ...call, request, endedAt: at }))
  })
}
