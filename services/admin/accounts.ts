import { isDeepStrictEqual } from 'node:util'
import { AccountName } from '../../schemas/admin/accounts.ts'
import type { Account, AccountChange, NewAccount } from '../../schemas/admin/accounts.ts'
import { GatewayError } from '../shared/errors.ts'
import { isoTime } from '../shared/iso-time.ts'
import { unknownAccount } from '../ledger/errors.ts'
import type { Limits } from '../shared/limits.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { assertFits } from './assert-fits.ts'
import { mergeLimits, toLimitSet } from './limits.ts'
import { readPage, type Page, type PageRequest } from './page.ts'

/**
 * Creates an account without credit. `created` is false, and nothing changes, if it already exists with the
 * same settings. Throws GatewayError 400 for a wrong id or parent, 409 if an account with this id differs.
 */
export async function createAccount (
  administration: Administration, { id, name = id, parent = null, limits: given = {} }: NewAccount
): Promise<{ account: Account, created: boolean }> {
  assertFits(AccountName, name, 'name')
  const limits = mergeLimits(given)
  const created = await administration.accounts.create({ id, name, parent, limits })
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
  const row = await store.get<AccountRow>(`select ${columns} from account where kind = 'account' and id = $1`, [id])
  if (row === undefined) throw unknownAccount(id)
  return toAccount(row)
}

/** Changes the given limits. Throws GatewayError 404. */
export async function updateAccount (
  administration: Administration, id: string, { limits }: AccountChange
): Promise<Account> {
  const { limits: before } = await getAccount(administration, id)
  if (limits !== undefined) {
    await administration.accounts.limit(id, mergeLimits({ ...before, ...limits }))
  }
  return await getAccount(administration, id)
}

/** Lists accounts by id. Throws GatewayError 400 for a wrong page. */
export async function listAccounts (
  { store, flush }: Administration, request: PageRequest = {}
): Promise<Page<Account>> {
  await flush()
  return await readPage(request, {
    example: [''],
    read: (after, limit) => store.all<AccountRow>(
      `select ${columns} from account where kind = 'account' and id > $1 order by id limit $2`,
      [after?.[0] ?? '', limit]),
    toItem: toAccount,
    cursorOf: ({ id }) => [id]
  })
}

interface AccountRow extends Limits {
  id: string
  name: string
  parent: string | null
  createdAt: number
  creditsNano: number
  spentNano: number
  heldNano: number
}

// What a node holds in reserve for future requests counts as available.
const columns = `
  id, name, parent, requests_per_minute as "requestsPerMinute", tokens_per_minute as "tokensPerMinute",
  concurrent_requests as "concurrentRequests", created_at as "createdAt", credits as "creditsNano", spent as "spentNano",
  held - (
    select cast(coalesce(sum(spare), 0) as bigint) from hold
    where hold.account = account.id and hold.kind = 'node' and hold.state = 0
  ) as "heldNano"`

function toAccount (
  { id, name, parent, createdAt, creditsNano, spentNano, heldNano, ...limits }: AccountRow
): Account {
  return {
    object: 'account',
    id,
    name,
    parent,
    created_at: isoTime(createdAt),
    limits: toLimitSet(limits),
    ...amountFields('credits', creditsNano),
    ...amountFields('spent', spentNano),
    ...amountFields('held', heldNano),
    ...amountFields('balance', creditsNano - spentNano),
    ...amountFields('available', creditsNano - spentNano - heldNano)
  }
}
