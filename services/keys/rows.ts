import { noLimits, type Limits } from '../shared/limits.ts'
import { nameSearchSql, type NameSearch } from '../store/name-search.ts'
import type { Queries, Reports, Store, Value } from '../store/store.ts'
import { settingsColumns, settingsOf, toSettingsRow, withSettings, type SettingsRow } from './settings.ts'
import type { KeySettings, KeyWithParents, ListedKey, StoredKey } from './types.ts'

export const maxKeysPerQuery = 50

/** Adds a key to an account; false when the account does not exist or is closed. */
export async function insertKey (
  queries: Queries, key: Omit<StoredKey, 'previousSha256' | 'previousUntil' | 'revokedAt' | 'lastUsedAt'>
): Promise<boolean> {
  const { id, secretSha256, account, role, createdAt } = key
  const places = settingNames.map((_, index) => `$${index + 6}`)
  const inserted = await queries.run(`
    insert into api_key (id, secret_sha256, account, role, created_at, ${settingNames.join(', ')})
    select $1, $2, id, $4, $5, ${places.join(', ')} from account
    where id = $3 and kind = 'account' and closed_at is null`,
  [id, secretSha256, account, role, createdAt, ...settingValues(key)])
  return inserted === 1
}

/** Returns those of at most `maxKeysPerQuery` keys that exist, revoked and expired ones included. */
export async function selectKeysWithParents (
  queries: Queries, ids: readonly string[]
): Promise<KeyWithParents[]> {
  // Two statements only, so that both stay prepared: unused places are filled with an id that no key has.
  const padding = Array<string>(Math.max(0, maxKeysPerQuery - ids.length)).fill('')
  const rows = ids.length === 1
    ? await queries.all<RowWithParents>(selectOne, ids)
    : await queries.all<RowWithParents>(selectMany, [...ids, ...padding])
  return rows.map(({ parent1, parent2, parent3, parent4, accountLimits, accountState, ...row }) => {
    const parents = [parent1, parent2, parent3, parent4].filter((parent) => parent !== null)
    const limits = readLimits(accountLimits).slice(0, parents.length + 1)
    return { ...withSettings(row), parents, accountState, accountLimits: limits }
  })
}

/** Returns a number that changes with every change of a key, or of its account's limits and state. */
export async function selectKeyVersion (queries: Queries): Promise<number> {
  const [row] = await queries.all<{ version: number }>('select version from key_changes')
  return row?.version ?? 0
}

/** Returns a key, undefined when it does not exist. */
export async function selectKey (queries: Queries, id: string): Promise<StoredKey | undefined> {
  const row = await queries.get<Row>(`select ${columns} from api_key where id = $1`, [id])
  return row === undefined ? undefined : withSettings(row)
}

/** Which keys to list; `after` is the id of the last key of the previous page. */
export interface KeyFilter { account: string | null, after: string | null, limit: number }

/** Returns one page of keys, the newest first. */
export async function selectKeyPage (
  reports: Reports, { account, after, limit }: KeyFilter
): Promise<StoredKey[]> {
  const conditions = ['true']
  const params: (string | number)[] = [limit]
  if (account !== null) conditions.push(`account = $${params.push(account)}`)
  if (after !== null) {
    const id = `$${params.push(after)}`
    const createdAt = `(select created_at from api_key where id = ${id})`
    conditions.push(`created_at <= ${createdAt} and (created_at < ${createdAt} or id > ${id})`)
  }
  const rows = await reports.all<Row>(`
    select ${columns} from api_key where ${conditions.join(' and ')}
    order by created_at desc, id limit $1`, params)
  return rows.map(withSettings)
}

/** Which keys to search. */
export interface KeySearch extends NameSearch { account: string | null }

/** Returns the keys whose label or id begins with a prefix, in the order of the match. */
export async function selectKeysByName (
  { engine, reports }: Pick<Store, 'engine' | 'reports'>, { account, ...search }: KeySearch
): Promise<StoredKey[]> {
  const params: Value[] = []
  const where = account === null ? 'true' : `account = $${params.push(account)}`
  const matches = nameSearchSql(engine, { table: 'api_key', name: 'label', where }, search, params)
  const rows = await reports.all<Row>(`
    select ${columns} from (${matches}) as matches join api_key on api_key.id = match_id
    order by match_text, match_id`, params)
  return rows.map(withSettings)
}

/** Returns whether any key exists, valid or not. */
export async function hasKeys (queries: Queries): Promise<boolean> {
  return await queries.get('select 1 as found from api_key limit 1') !== undefined
}

/** Reads a key and blocks other changes of it until the caller's transaction ends. */
export async function lockKey (queries: Queries, id: string): Promise<StoredKey | undefined> {
  // SQLite has no `for update`; an update that changes nothing takes the same lock on every engine.
  await queries.run('update api_key set last_used_at = last_used_at where id = $1', [id])
  return await selectKey(queries, id)
}

/** Writes the settings of a key. */
export async function updateKeySettings (queries: Queries, id: string, settings: KeySettings): Promise<void> {
  const changes = settingNames.map((name, index) => `${name} = $${index + 2}`)
  await queries.run(`update api_key set ${changes.join(', ')} where id = $1`, [id, ...settingValues(settings)])
}

/**
 * Replaces the secret of a key; the current one stays valid until `previousUntil`, an older one expires now.
 */
export async function replaceKeySecret (
  queries: Queries, id: string, secretSha256: string, previousUntil: number
): Promise<void> {
  await queries.run(`
    update api_key set previous_sha256 = secret_sha256, previous_until = $3, secret_sha256 = $2
    where id = $1`, [id, secretSha256, previousUntil])
}

/** Marks a key as revoked at a time; false when it is unknown or already revoked. */
export async function markKeyRevoked (queries: Queries, id: string, at: number): Promise<boolean> {
  const revoked = await queries.run(
    'update api_key set revoked_at = $2 where id = $1 and revoked_at is null', [id, at])
  return revoked === 1
}

/** Records when a key was last used; never moves the time back. */
export async function markKeyUsed (queries: Queries, id: string, at: number): Promise<void> {
  await queries.run(`
    update api_key set last_used_at = $2
    where id = $1 and (last_used_at is null or last_used_at < $2)`, [id, at])
}

/** Removes the hashes of the secrets. */
export function toListedKey ({ secretSha256: _, previousSha256: __, ...listed }: StoredKey): ListedKey {
  return listed
}

type Row = Omit<StoredKey, keyof KeySettings> & SettingsRow

interface RowWithParents extends Omit<StoredKey, keyof KeySettings>, SettingsRow {
  parent1: string | null
  parent2: string | null
  parent3: string | null
  parent4: string | null
  /** Three numbers for each of five accounts, separated by commas; an empty one is no limit. */
  accountLimits: string
  accountState: KeyWithParents['accountState']
}

const settingNames = Object.values(settingsColumns)

const columns = `
  api_key.id, role, account, secret_sha256 as "secretSha256", previous_sha256 as "previousSha256",
  previous_until as "previousUntil", api_key.created_at as "createdAt", revoked_at as "revokedAt",
  last_used_at as "lastUsedAt",
  ${Object.entries(settingsColumns).map(([name, column]) => `api_key.${column} as "${name}"`).join(', ')}`

// An account has at most four parents, see `maxAccountDepth`.
const withParents = `
  select ${columns},
    owner.parent as parent1, first.parent as parent2, second.parent as parent3, third.parent as parent4,
    ${['owner', 'first', 'second', 'third', 'fourth'].map(limitsText).join(" || ',' || ")} as "accountLimits",
    case when owner.closed_at is not null then 'closed'
      when coalesce(owner.frozen_at, first.frozen_at, second.frozen_at, third.frozen_at, fourth.frozen_at) is not null
      then 'frozen' else 'active' end as "accountState"
  from api_key
  join account as owner on owner.id = api_key.account
  left join account as first on first.id = owner.parent
  left join account as second on second.id = first.parent
  left join account as third on third.id = second.parent
  left join account as fourth on fourth.id = third.parent`

const selectOne = `${withParents} where api_key.id = $1`
const places = Array.from({ length: maxKeysPerQuery }, (_, index) => `$${index + 1}`)
const selectMany = `${withParents} where api_key.id in (${places.join(', ')})`

/** The values of `settingNames`. */
function settingValues (settings: KeySettings): Value[] {
  const row: Record<string, Value> = { ...toSettingsRow(settingsOf(settings)) }
  return Object.keys(settingsColumns).map(name => row[name] ?? null)
}

/** The limits of one joined account as text, so that a row has one column for all of them. */
function limitsText (account: string): string {
  return ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests']
    .map(column => `coalesce(cast(${account}.${column} as text), '')`).join(" || ',' || ")
}

function readLimits (text: string): Limits[] {
  // Most accounts have no limits, and each key in use is read every second.
  const numbers = /\d/.test(text) ? text.split(',').map(part => part === '' ? null : Number(part)) : []
  return Array.from({ length: 5 }, (_, index) => {
    if (numbers.length === 0) return noLimits
    const [requests = null, tokens = null, concurrent = null] = numbers.slice(index * 3)
    return { requestsPerMinute: requests, tokensPerMinute: tokens, concurrentRequests: concurrent }
  })
}
