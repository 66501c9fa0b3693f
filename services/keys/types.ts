import type { keyRoles } from '../../schemas/admin/keys.ts'
import type { Limits, ScopedLimits } from '../shared/limits.ts'
import type { KeySettings } from './settings.ts'

export type { Budget, KeySettings } from './settings.ts'

/** A user key only pays for requests; an admin key only manages the gateway. */
export type KeyRole = typeof keyRoles[number]

/** A key as the database stores it. Times in milliseconds, hashes in hexadecimal. */
export interface StoredKey extends KeySettings {
  id: string
  role: KeyRole
  account: string
  secretSha256: string
  previousSha256: string | null
  previousUntil: number | null
  createdAt: number
  revokedAt: number | null
  lastUsedAt: number | null
}

/** A key without the hashes of its secrets. */
export type ListedKey = Omit<StoredKey, 'secretSha256' | 'previousSha256'>

/** The state of an account; it is also frozen if one of its parents is. */
export type AccountStatus = 'active' | 'frozen' | 'closed'

/** A key with the parents of its account, the nearest first. */
export interface KeyWithParents extends StoredKey {
  parents: readonly string[]
  /** The limits of its account, then those of each parent. */
  accountLimits: readonly Limits[]
  accountState: AccountStatus
}

/** The key of a request, prepared for use. */
export interface KeyRecord extends Readonly<Omit<KeySettings, 'limits'>> {
  readonly id: string
  readonly role: KeyRole
  readonly account: string
  readonly accountState: AccountStatus
  readonly revokedAt: number | null
  /** The limits of the key and its accounts, without empty ones. */
  readonly limits: readonly ScopedLimits[]
  mayUse (model: string): boolean
  /** The accounts that a request is reserved on: the payer, its parents and the key's budget. */
  chainAt (now: number): readonly string[]
}
