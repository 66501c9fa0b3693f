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
}

/** How many accounts and keys are searched by name; those beyond are found by id alone. */
const searched = '1000'
const shown = 8

/** Finds accounts and keys by id or part of a name, requests and jobs by id. */
export async function findThings (text: string, signal: AbortSignal): Promise<readonly Found[]> {
  const words = text.toLowerCase()
  const has = (...names: string[]): boolean => names.some(name => name.toLowerCase().includes(words))
  async function get<Row> (path: string, query: Query = {}): Promise<readonly Row[]> {
    const { data } = await call<Page<Row>>(path, { query, signal }).catch(withoutRows<Row>)
    return data
  }
  const isId = /^\S{6,128}$/.test(text)
  const [accounts, keys, requests, jobs] = await Promise.all([
    isUser() ? [] : get<Account>('/admin/accounts', { limit: searched }),
    get<Key>('/admin/keys', { limit: searched }),
    isId ? get<LoggedRequestItem>(`/admin/requests/${encodeURIComponent(text)}`, { limit: '1' }) : [],
    get<AdminJob>('/admin/jobs', { limit: '100' })
  ])
  const named = (kind: string, path: string, id: string, name: string): Found =>
    ({ kind, title: name === '' || name === id ? id : `${name} (${id})`, href: link(path, id) })
  return [
    ...accounts.filter(({ id, name }) => has(id, name)).slice(0, shown)
      .map(({ id, name }) => named('account', 'accounts', id, name)),
    ...keys.filter(({ id, label }) => has(id, label)).slice(0, shown)
      .map(({ id, label }) => named('key', 'keys', id, label)),
    ...requests.map(({ id }) => named('request', 'requests', id, '')),
    ...jobs.filter(({ id, model }) => has(id, model)).slice(0, shown)
      .map(({ id, model }) => named('job', 'jobs', id, model))
  ]
}

/** What may not be seen, or does not exist, is not found. */
function withoutRows<Row> (error: unknown): Page<Row> {
  if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error
  return { data: [], has_more: false, next: null }
}
