import { hash } from 'node:crypto'
import type { Accounts } from '../billing/ledger/accounts.ts'
import { GatewayError } from '../shared/errors.ts'
import { noLimits, type Limits } from '../shared/limits.ts'
import type { Keys } from './keys.ts'
import type { KeyRecord } from './types.ts'

/** A user identified by a plugin. */
export interface IdentifiedUser {
  plugin: string
  account: string
  /** Unique within plugin and account. */
  subject: string
  createAccount: boolean
  /** Settings of a new key. */
  models: readonly string[] | null
  limits: Partial<Limits>
}

/**
 * The key of a user, created at the first request: the user has no secret, but is limited, listed and revoked
 * like any key. Throws GatewayError 401 for a revoked key, 403 for an unknown account; StoreUnavailable.
 */
export async function identifiedKey (
  { keys, accounts }: { keys: Keys, accounts: Pick<Accounts, 'create'> }, user: IdentifiedUser
): Promise<KeyRecord> {
  const id = idOf(user)
  const found = await keys.authenticateId(id)
  if (found !== null) return found
  const { plugin, account, subject, createAccount, models, limits } = user
  if (createAccount) await accounts.create({ id: account })
  const label = `${plugin}: ${subject}`.slice(0, 200)
  try {
    await keys.create({ id, account, label, models, limits: { ...noLimits, ...limits } })
  } catch (error) {
    if (error instanceof GatewayError && error.param === 'account') throw unknownAccount(account)
    // Another request may have created it first.
    const other = await keys.authenticateId(id, true)
    if (other === null) throw error
    return other
  }
  const created = await keys.authenticateId(id, true)
  if (created === null) throw new Error(`The key ${id} was created and is gone.`)
  return created
}

function idOf ({ plugin, account, subject }: IdentifiedUser): string {
  return hash('sha256', JSON.stringify([plugin, account, subject])).slice(0, 24)
}

function unknownAccount (account: string): GatewayError {
  return new GatewayError(403, 'invalid_request_error',
    `The account \`${account}\` of this login does not exist or is closed. Contact the operator of this gateway.`,
    { code: 'unknown_account', headers: { 'x-should-retry': 'false' } })
}
