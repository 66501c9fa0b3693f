import type { Queries, Reports, Value } from '../store/store.ts'
import { whereClause } from '../store/where-clause.ts'
import type { StoredMedia } from './media.ts'

export interface MediaRow extends StoredMedia { sha256: string, account: string, job: string | null }

const columns = `id, job, account, mime, extension, bytes, sha256, width, height,
  created_at as "createdAt", expires_at as "expiresAt"`

/** Inserts a row; again without effect. Throws StoreUnavailable. */
export async function insertMedia (queries: Queries, row: MediaRow): Promise<void> {
  const { id, job, account, mime, extension, bytes, sha256, width, height, createdAt, expiresAt } = row
  await queries.run(`
    insert into media (id, job, account, mime, extension, bytes, sha256, width, height, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    on conflict (id) do nothing`,
  [id, job, account, mime, extension, bytes, sha256, width, height, createdAt, expiresAt])
}

/** Selects a row, expired or not. Throws StoreUnavailable. */
export async function selectMedia (queries: Queries, id: string): Promise<MediaRow | undefined> {
  return await queries.get<MediaRow>(`select ${columns} from media where id = $1`, [id])
}

/** Which media to list; `after` is the time and id of the last one of the previous page. */
export interface MediaFilter {
  account: string | undefined
  kind: 'image' | 'video' | undefined
  now: number
  after: readonly [createdAt: number, id: string] | undefined
  limit: number
}

/** Returns one page of media that have not expired, newest first. Throws StoreUnavailable. */
export async function selectMediaPage (
  reports: Reports, { account, kind, now, after, limit }: MediaFilter
): Promise<MediaRow[]> {
  const [createdAt, id] = after ?? [Number.MAX_SAFE_INTEGER, '']
  const params: Value[] = [limit, createdAt]
  const where = whereClause([
    ['(created_at, id) < ($2, ?)', id],
    ['account = ?', account],
    ['substr(mime, 1, 6) = ?', kind === undefined ? undefined : `${kind}/`],
    ['expires_at > ?', now]
  ], params)
  return await reports.all<MediaRow>(`
    select ${columns} from media where ${where} order by created_at desc, id desc limit $1`, params)
}

/** Makes the videos of a job expire now. Their bytes are deleted within a minute. Throws StoreUnavailable. */
export async function expireVideos (queries: Queries, job: string, nowMs: number): Promise<void> {
  await queries.run(`
    update media set expires_at = $2 where job = $1 and mime like 'video/%' and expires_at > $2`, [job, nowMs])
}

/** Makes all media of a job expire now, also pictures that its request gave. Throws StoreUnavailable. */
export async function expireMediaOfJob (queries: Queries, job: string, nowMs: number): Promise<void> {
  await queries.run('update media set expires_at = $2 where job = $1 and expires_at > $2', [job, nowMs])
}

/** Makes media expire now. Throws StoreUnavailable. */
export async function expireMedia (queries: Queries, ids: readonly string[], nowMs: number): Promise<void> {
  if (ids.length === 0) return
  const places = ids.map((_, index) => `$${index + 2}`).join(', ')
  await queries.run(`update media set expires_at = $1 where id in (${places}) and expires_at > $1`, [nowMs, ...ids])
}

/** Deletes the oldest expired rows and returns them; concurrent callers get different rows. */
export async function deleteExpiredRows (queries: Queries, nowMs: number, limit: number): Promise<Pick<MediaRow, 'id' | 'extension'>[]> {
  return await queries.all(`
    delete from media
    where id in (select id from media where expires_at <= $1 order by expires_at limit $2)
    returning id, extension`, [nowMs, limit])
}

/** Returns those of `ids` that have a row. */
export async function existingIds (queries: Queries, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const places = ids.map((_, index) => `$${index + 1}`).join(', ')
  const rows = await queries.all<{ id: string }>(`select id from media where id in (${places})`, ids)
  return new Set(rows.map(({ id }) => id))
}
