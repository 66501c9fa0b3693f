import { isDeepStrictEqual } from 'node:util'
import type { Static } from '@sinclair/typebox'
import { AccountName } from '../../../schemas/admin/accounts.ts'
import type { Account, AccountChange, AccountQuery, Closing, NewAccount } from '../../../schemas/admin/accounts.ts'
import { GatewayError } from '../../shared/errors.ts'
import { unknownAccount } from '../../billing/ledger/errors.ts'
import { toLimitSet } from '../../shared/limits.ts'
import { accountColumns, toAccount, type StoredAccount } from './account-rows.ts'
import type { WatchedAmounts } from '../../billing/ledger/account-changes.ts'
import type { Administration } from './administration.ts'
import { amountFields, requiredNanoOf } from './amounts.ts'
import { assertFits } from './assert-fits.ts'
import { mergeLimits } from './limits.ts'
import { readPage, type Page, type ListRequest, type PageRequest } from './page.ts'
import { nameMatch, nameSearchSql } from '../../store/name-search.ts'
import type { Value } from '../../store/store.ts'

/**
 * Creates an account without credit. `created` is false, and nothing changes, if it already exists with the
 * same settings. Throws GatewayError 400 for a wrong id or parent, 409 if an account with this id differs.
 */
export async function createAccount (
  administration: Administration, { id, name = id, parent = null, limits: given = {} }: NewAccount
): Promise<{ account: Account, created: boolean }> {
  assertFits(AccountName, name, 'name')
  const limits = mergeLimits(given)
  const { accounts, actor } = administration
  const created = await accounts.create({ id, name, parent, limits, actor })
  const account = await getAccount(administration, id)
  const isSame = account.name === name && account.parent === parent &&
    isDeepStrictEqual(account.limits, toLimitSet(limits))
  if (created || isSame) return { account, created }
  throw new GatewayError(409, 'invalid_request_error', `The account \`${id}\` already exists with other settings.`,
    { param: 'id', code: 'account_exists' })
}

/** Returns an account with its balances. Throws GatewayError 404. */
export async function getAccount ({ store, flush }: Administration, id: string): Promise<Account> {
  await flush()
  const row = await store.get<StoredAccount>(`select ${accountColumns} from account where kind = 'account' and id = $1`, [id])
  if (row === undefined) throw unknownAccount(id)
  return toAccount(row)
}

/** The same for its users, without the accounts above. */
export function withoutParent (account: Account): Account {
  return { ...account, parent: null, ...amountFields('available', account.balance_nano - account.held_nano) }
}

/**
 * Changes name and limits, and moves the account to another parent. Throws GatewayError 404, and what
 * `createAccountMoves` throws.
 */
export async function updateAccount (
  administration: Administration, id: string, change: AccountChange
): Promise<Account> {
  const { accounts, actor } = administration
  const { name, limits = {}, parent } = change
  const watched = toWatchedChange(change)
  if (name !== undefined) assertFits(AccountName, name, 'name')
  if (parent !== undefined) await accounts.move(id, parent, actor)
  await accounts.update(id, before => ({
    ...before, ...watched, name: name ?? before.name, limits: mergeLimits(limits, before.limits)
  }), actor)
  return await getAccount(administration, id)
}

function toWatchedChange (
  { soft_budget: budget, low_balance: low }: AccountChange
): Partial<WatchedAmounts> {
  return {
    ...(budget !== undefined && { softBudget: budget === null ? null : toSoftBudget(budget) }),
    ...(low !== undefined && { lowBalanceNano: low === null ? null : notNegative('low_balance', requiredNanoOf(low)) })
  }
}

function toSoftBudget (
  { period = null, ...given }: NonNullable<AccountChange['soft_budget']>
): WatchedAmounts['softBudget'] {
  const limitNano = requiredNanoOf(given)
  if (limitNano > 0) return { limitNano, period }
  throw GatewayError.invalidValue('soft_budget', 'must be above zero')
}

function notNegative (param: string, nano: number): number {
  if (nano >= 0) return nano
  throw GatewayError.invalidValue(param, 'must not be below zero')
}

interface FreezeChange { reason?: string | null, how: 'freeze' | 'unfreeze' }

/** Freezes an account, which rejects its requests, or unfreezes it. Throws GatewayError 404, 409. */
export async function freezeAccount (
  administration: Administration, id: string, { reason = null, how }: FreezeChange
): Promise<Account> {
  await administration.accounts[how](id, reason, administration.actor)
  return await getAccount(administration, id)
}

/** Closes an account for good. Throws GatewayError 404, 409 while it has holds or credits. */
export async function closeAccount (
  administration: Administration, id: string, { take_out: takeOut = false, reason }: Closing
): Promise<Account> {
  await administration.flush()
  await administration.accounts.close(id, { takeOut, reason: reason ?? null }, administration.actor)
  return await getAccount(administration, id)
}

export type AccountRequest = ListRequest<Static<typeof AccountQuery>>

/** Lists accounts by id, or search results by their match. Throws GatewayError 400 for a wrong page. */
export async function listAccounts (
  administration: Administration, { search, ...request }: AccountRequest = {}
): Promise<Page<Account>> {
  const { store, flush } = administration
  await flush()
  if (search !== undefined) return await searchAccounts(store, search, request)
  return await readPage(request, {
    example: [''],
    read: (after, limit) => store.reports.all<StoredAccount>(
      `select ${accountColumns} from account where kind = 'account' and id > $1 order by id limit $2`,
      [after?.[0] ?? '', limit]),
    toItem: toAccount,
    cursorOf: ({ id }) => [id]
  })
}

async function searchAccounts (
  { engine, reports }: Administration['store'], prefix: string, request: PageRequest
): Promise<Page<Account>> {
  const rows = { table: 'account', name: 'name', where: "kind = 'account'" }
  return await readPage(request, {
    example: ['', ''],
    async read (after, limit) {
      const params: Value[] = []
      const matches = nameSearchSql(engine, rows, { prefix, after: after ?? null, limit }, params)
      return await reports.all<StoredAccount>(`
        select ${accountColumns} from (${matches}) as matches join account on account.id = match_id
        order by match_text, match_id`, params)
    },
    toItem: toAccount,
    cursorOf: ({ name, id }) => nameMatch(prefix, name, id)
  })
}
