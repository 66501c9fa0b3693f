import type { AdminJob, AdminJobWithTimeline } from '../../../schemas/admin/jobs.ts'
import { entryIdSql } from '../../billing/ledger/entry-id.ts'
import { entriesOfPeriod, refIs } from '../../billing/ledger/sql/entry-blocks.ts'
import { isoTime } from '../../shared/iso-time.ts'
import type { Store } from '../../store/store.ts'

type Step = AdminJobWithTimeline['timeline'][number]

/** Clocks of nodes differ, and a settlement may wait for its group. */
const aroundMs = 3_600_000

/** Returns the steps of a job that have times, in their order. */
export async function timelineOf (
  store: Pick<Store, 'reports' | 'engine'>, job: AdminJob
): Promise<Step[]> {
  const times: [step: Step['step'], at: string | null][] =
    [['created', job.created_at], ['submitted', job.submitted_at], ['polled', job.polled_at], ['finished', job.finished_at], ['expires', job.expires_at]]
  const own = times.flatMap(([step, at]): Step[] => at === null ? [] : [{ step, at, ref: null }])
  const others = [...await storedFiles(store, job.id), ...await charges(store, job)]
  return [...own, ...others].sort((one, other) => Date.parse(one.at) - Date.parse(other.at))
}

async function storedFiles ({ reports }: Pick<Store, 'reports'>, job: string): Promise<Step[]> {
  const rows = await reports.all<{ id: string, at: number }>(
    'select id, created_at as at from media where job = $1 order by created_at, id', [job])
  return rows.map(({ id, at }) => ({ step: 'stored', at: isoTime(at), ref: id }))
}

async function charges (
  { reports, engine }: Pick<Store, 'reports' | 'engine'>, { id, finished_at: finishedAt }: AdminJob
): Promise<Step[]> {
  if (finishedAt === null) return []
  const at = Date.parse(finishedAt)
  const rows = await reports.all<{ id: string, at: number }>(`
    select ${entryIdSql()} as id, at from ${entriesOfPeriod(engine)}
    where at >= $1 and at < $2 and ${refIs('$3')} and kind = 'usage' order by seq limit 10`, [at - aroundMs, at + aroundMs, id])
  return rows.map(({ id, at }) => ({ step: 'charged', at: isoTime(at), ref: id }))
}
