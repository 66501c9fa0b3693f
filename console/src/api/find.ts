import type { Account } from '../../../schemas/admin/accounts.ts'
import type { AdminJob } from '../../../schemas/admin/jobs.ts'
import type { Key } from '../../../schemas/admin/keys.ts'
import type { LoggedRequestItem } from '../../../schemas/admin/requests.ts'
import { link } from '../router.ts'
import { isUser } from '../session.ts'
import { ApiError } from './error.ts'
import { call, type Query } from './fetch.ts'
import type { Page } from './list.ts'

export interface Found {
  kind: string
  title: string
  href: string
  /** What is done instead of going to `href`. */
  run?: () => void
}

const shown = '8'

/** Finds accounts and keys by the beginning of name or id, jobs by that of their id, requests by id. */
export async function findThings (text: string, signal: AbortSignal): Promise<readonly Found[]> {
  async function get<Row> (path: string, query: Query = {}): Promise<readonly Row[]> {
    const page = call<Page<Row>>(path, { query: { limit: shown, ...query }, signal })
    const { data } = await page.catch(withoutRows<Row>)
    return data
  }
  const isId = /^\S{6,128}$/.test(text)
  const [accounts, keys, requests, jobs] = await Promise.all([
    isUser() ? [] : get<Account>('/admin/accounts', { search: text }),
    get<Key>('/admin/keys', { search: text }),
    isId ? get<LoggedRequestItem>(`/admin/requests/${encodeURIComponent(text)}`, { limit: undefined }) : [],
    get<AdminJob>('/admin/jobs', { search: text })
  ])
  const named = (kind: string, path: string, id: string, name: string): Found =>
    ({ kind, title: name === '' || name === id ? id : `${name} (${id})`, href: link(path, id) })
  return [
    ...accounts.map(({ id, name }) => named('account', 'accounts', id, name)),
    ...keys.map(({ id, label }) => named('key', 'keys', id, label)),
    ...requests.slice(0, 1).map(({ id }) => named('request', 'requests', id, '')),
    ...jobs.map(({ id, model }) => named('job', 'jobs', id, model))
  ]
}

/** What may not be seen, or does not exist, is not found. */
function withoutRows<Row> (error: unknown): Page<Row> {
  if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error
  return { data: [], has_more: false, next: null }
}
