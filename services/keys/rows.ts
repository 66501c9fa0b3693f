import { noLimits } from '../shared/limits.ts'
import type { Limits } from '../shared/limits.ts'
import type { Queries } from '../store/store.ts'
import type { Period } from './periods.ts'

/** A user's key pays for requests, an admin's manages the gateway; neither can do what the other does. */
export type KeyRole = 'user' | 'admin'

/** What a key may spend at most: in each period, or in all when it has none. Integer nano-USD. */
export interface Budget { readonly limitNano: number, readonly period: Period | null }

/** What an operator may change of a key. */
export interface KeySettings {
  label: string
  /** Globs of the models it may use, `*` for any text; null: all. */
  models: readonly string[] | null
  budget: Budget | null
  /** Milliseconds; null: never. */
  expiresAt: number | null
  limits: Limits
}

/** A key as the database has it. Times in milliseconds, hashes in hexadecimal. */
export interface StoredKey extends KeySettings {
  id: string
  role: KeyRole
  account: string
  secretSha256: string
  /** Of the secret before the last rotation, and when that ends or has ended. */
  previousSha256: string | null
  previousUntil: number | null
  createdAt: number
  revokedAt: number | null
  lastUsedAt: number | null
}

/** What is shown of a key: everything but the hashes of its secrets. */
export type ListedKey = Omit<StoredKey, 'secretSha256' | 'previousSha256'>

/** A key with the accounts that its account is a part of, the nearest first. */
export interface KeyWithParents extends StoredKey {
  parents: readonly string[]
  /** The limits of its account, then those of each parent. */
  accountLimits: readonly Limits[]
}

export type NewKeyRow = Omit<StoredKey, 'previousSha256' | 'previousUntil' | 'revokedAt' | 'lastUsedAt'>

/** How many keys one query of `selectKeys` may ask for. */
export const maxKeysPerQuery = 50

/** Adds a key to an existing account; false when there is no such account. */
export async function insertKey (queries: Queries, key: NewKeyRow): Promise<boolean> {
  const { id, secretSha256, account, role, createdAt } = key
  const inserted = await queries.run(`
    insert into api_key
      (id, secret_sha256, account, role, created_at, label, models, budget_nano, budget_period, expires_at,
        requests_per_minute, tokens_per_minute, concurrent_requests)
    select $1, $2, id, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 from account where id = $3 and kind = 'account'`,
  [id, secretSha256, account, role, createdAt, ...settingsOf(key)])
  return inserted === 1
}

/** Returns those of at most `maxKeysPerQuery` keys that exist, revoked and expired ones too. */
export async function selectKeys (
  queries: Queries, ids: readonly string[]
): Promise<KeyWithParents[]> {
  // Two texts only, so that each stays prepared: free places ask for an id that no key has.
  const padding = Array<string>(Math.max(0, maxKeysPerQuery - ids.length)).fill('')
  const rows = ids.length === 1
    ? await queries.all<RowWithParents>(selectOne, ids)
    : await queries.all<RowWithParents>(selectMany, [...ids, ...padding])
  return rows.map(({ parent1, parent2, parent3, parent4, accountLimits, ...row }) => {
    const parents = [parent1, parent2, parent3, parent4].filter((parent) => parent !== null)
    return { ...toKey(row), parents, accountLimits: readLimits(accountLimits).slice(0, parents.length + 1) }
  })
}

/** Returns a key, undefined when there is none. */
export async function selectKey (queries: Queries, id: string): Promise<StoredKey | undefined> {
  const row = await queries.get<Row>(`select ${columns} from api_key where id = $1`, [id])
  return row === undefined ? undefined : toKey(row)
}

/** Which keys to list; `after` is the id of the last one that was shown. */
export interface KeyFilter { account: string | null, after: string | null, limit: number }

/** Returns keys, the newest first. */
export async function listKeys (
  queries: Queries, { account, after, limit }: KeyFilter
): Promise<StoredKey[]> {
  const conditions = ['true']
  const params: (string | number)[] = [limit]
  if (account !== null) conditions.push(`account = $${params.push(account)}`)
  if (after !== null) {
    const id = `$${params.push(after)}`
    const createdAt = `(select created_at from api_key where id = ${id})`
    conditions.push(`(created_at < ${createdAt} or (created_at = ${createdAt} and id > ${id}))`)
  }
  const rows = await queries.all<Row>(`
    select ${columns} from api_key where ${conditions.join(' and ')}
    order by created_at desc, id limit $1`, params)
  return rows.map(toKey)
}

/** Returns whether there is any key, valid or not. */
export async function hasKeys (queries: Queries): Promise<boolean> {
  return await queries.get('select 1 as found from api_key limit 1') !== undefined
}

/** Reads a key and makes everybody who changes it wait until the caller's transaction ends. */
export async function lockKey (queries: Queries, id: string): Promise<StoredKey | undefined> {
  // SQLite has no `for update`; a change that changes nothing takes the same lock on every engine.
  await queries.run('update api_key set label = label where id = $1', [id])
  return await selectKey(queries, id)
}

/** Writes the settings of a key. */
export async function updateKey (queries: Queries, id: string, settings: KeySettings): Promise<void> {
  await queries.run(`
    update api_key set label = $2, models = $3, budget_nano = $4, budget_period = $5, expires_at = $6,
      requests_per_minute = $7, tokens_per_minute = $8, concurrent_requests = $9
    where id = $1`, [id, ...settingsOf(settings)])
}

/** Gives a key a new secret; the one it had ends at `previousUntil`, the one before that at once. */
export async function rotateKey (
  queries: Queries, id: string, secretSha256: string, previousUntil: number
): Promise<void> {
  await queries.run(`
    update api_key set previous_sha256 = secret_sha256, previous_until = $3, secret_sha256 = $2
    where id = $1`, [id, secretSha256, previousUntil])
}

/** Marks a key as revoked at a time; false when it is unknown or has been revoked before. */
export async function revokeKey (queries: Queries, id: string, at: number): Promise<boolean> {
  const revoked = await queries.run(
    'update api_key set revoked_at = $2 where id = $1 and revoked_at is null', [id, at])
  return revoked === 1
}

/** Notes when a key was last used; never moves the time back. */
export async function touchKey (queries: Queries, id: string, at: number): Promise<void> {
  await queries.run(`
    update api_key set last_used_at = $2
    where id = $1 and (last_used_at is null or last_used_at < $2)`, [id, at])
}

/** Leaves the hashes of its secrets out of a key. */
export function toListed ({ secretSha256: _, previousSha256: __, ...listed }: StoredKey): ListedKey {
  return listed
}

interface Row extends Omit<StoredKey, 'models' | 'budget' | 'limits'>, Limits {
  models: string | null
  budgetNano: number | null
  budgetPeriod: Period | null
}

interface RowWithParents extends Row {
  parent1: string | null
  parent2: string | null
  parent3: string | null
  parent4: string | null
  /** Three numbers for each of five accounts, with commas between; an empty one is no limit. */
  accountLimits: string
}

const columns = `
  api_key.id, role, account, label, secret_sha256 as "secretSha256", previous_sha256 as "previousSha256",
  previous_until as "previousUntil", models, budget_nano as "budgetNano", budget_period as "budgetPeriod",
  api_key.created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
  last_used_at as "lastUsedAt", api_key.requests_per_minute as "requestsPerMinute",
  api_key.tokens_per_minute as "tokensPerMinute", api_key.concurrent_requests as "concurrentRequests"`

// An account has at most four parents, see `maxAccountDepth`.
const withParents = `
  select ${columns},
    owner.parent as parent1, first.parent as parent2, second.parent as parent3, third.parent as parent4,
    ${['owner', 'first', 'second', 'third', 'fourth'].map(limitsText).join(" || ',' || ")} as "accountLimits"
  from api_key
  join account as owner on owner.id = api_key.account
  left join account as first on first.id = owner.parent
  left join account as second on second.id = first.parent
  left join account as third on third.id = second.parent
  left join account as fourth on fourth.id = third.parent`

const selectOne = `${withParents} where api_key.id = $1`
const selectMany = `${withParents} where api_key.id in (${placeholders(maxKeysPerQuery)})`

function placeholders (count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')
}

function settingsOf ({ label, models, budget, expiresAt, limits }: KeySettings) {
  const globs = models === null ? null : JSON.stringify(models)
  const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits
  return [
    label, globs, budget?.limitNano ?? null, budget?.period ?? null, expiresAt,
    requestsPerMinute, tokensPerMinute, concurrentRequests
  ]
}

/** The limits of one joined account as text, so that a row has one column for all of them. */
function limitsText (account: string): string {
  return ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests']
    .map(column => `coalesce(cast(${account}.${column} as text), '')`).join(" || ',' || ")
}

function readLimits (text: string): Limits[] {
  // Hardly any account has limits, and this is read for every key in use, every second.
  const numbers = /\d/.test(text) ? text.split(',').map(part => part === '' ? null : Number(part)) : []
  return Array.from({ length: 5 }, (_, index) => {
    if (numbers.length === 0) return noLimits
    const [requests = null, tokens = null, concurrent = null] = numbers.slice(index * 3)
    return { requestsPerMinute: requests, tokensPerMinute: tokens, concurrentRequests: concurrent }
  })
}

function toKey (
  { models, budgetNano, budgetPeriod, requestsPerMinute, tokensPerMinute, concurrentRequests, ...row }: Row
): StoredKey {
  return {
    ...row,
    limits: { requestsPerMinute, tokensPerMinute, concurrentRequests },
    models: models === null ? null : JSON.parse(models),
    budget: budgetNano === null ? null : { limitNano: budgetNano, period: budgetPeriod }
  }
}
