import type { Queries } from '../store/store.ts'

/** A row of the table `api_key`; times in milliseconds. */
export interface KeyRow {
  id: string
  /** Hexadecimal. */
  secretSha256: string
  account: string
  label: string
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
  lastUsedAt: number | null
}

/** How many keys one query of `selectKeys` may ask for. */
export const maxKeysPerQuery = 50

const columns = `
  id, secret_sha256 as "secretSha256", account, label, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", last_used_at as "lastUsedAt"`

/** Adds a key to an existing account; false when there is no such account. */
export async function insertKey (queries: Queries, key: Omit<KeyRow, 'revokedAt' | 'lastUsedAt'>): Promise<boolean> {
  const inserted = await queries.run(`
    insert into api_key (id, secret_sha256, account, label, created_at, expires_at)
    select $1, $2, id, $4, $5, $6 from account where id = $3`,
  [key.id, key.secretSha256, key.account, key.label, key.createdAt, key.expiresAt])
  return inserted === 1
}

/** Returns those of at most `maxKeysPerQuery` keys that exist, revoked and expired ones too. */
export async function selectKeys (queries: Queries, ids: readonly string[]): Promise<KeyRow[]> {
  if (ids.length === 1) return await queries.all<KeyRow>(selectOne, ids)
  // Two texts only, so that each stays prepared: free places ask for an id that no key has.
  const padding = Array<string>(Math.max(0, maxKeysPerQuery - ids.length)).fill('')
  return await queries.all<KeyRow>(selectMany, [...ids, ...padding])
}

const selectOne = `select ${columns} from api_key where id = $1`
const selectMany = `select ${columns} from api_key where id in (${placeholders(maxKeysPerQuery)})`

function placeholders (count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')
}

/** Returns the newest keys first, at most `limit`. */
export async function listKeys (queries: Queries, limit: number): Promise<KeyRow[]> {
  return await queries.all<KeyRow>(
    `select ${columns} from api_key order by created_at desc, id limit $1`, [limit])
}

/** Returns whether there is any key, valid or not. */
export async function hasKeys (queries: Queries): Promise<boolean> {
  return await queries.get('select 1 as found from api_key limit 1') !== undefined
}

/** Marks a key as revoked at a time; false when it is unknown or has been revoked before. */
export async function revokeKey (queries: Queries, id: string, at: number): Promise<boolean> {
  return await queries.run('update api_key set revoked_at = $2 where id = $1 and revoked_at is null', [id, at]) === 1
}

/** Notes when a key was last used; never moves the time back. */
export async function touchKey (queries: Queries, id: string, at: number): Promise<void> {
  await queries.run(`
    update api_key set last_used_at = $2
    where id = $1 and (last_used_at is null or last_used_at < $2)`, [id, at])
}
