import { ownAccounts } from '../../billing/ledger/accounts.ts'
import { unknownAccount } from '../../billing/ledger/errors.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'

/** How a route restricts a user to their account. */
export type OwnAccountRule = 'query' | 'path' | 'handler'

/**
 * Returns the query string with the only account that it may name. Throws GatewayError 403 for another one,
 * 404 if the path names another one.
 */
export function keptToAccount (
  account: string, rule: OwnAccountRule, { query, params }: { query: unknown, params: unknown }
): JsonObject {
  const given = isObject(query) ? query : {}
  if (rule === 'path') {
    const id = isObject(params) ? String(params['id']) : ''
    if (id !== account) throw unknownAccount(id)
  }
  if (rule !== 'query') return given
  if (given['account'] !== undefined && given['account'] !== account) throw otherAccount(account)
  if (given['children'] === 'true') throw otherAccount(account)
  return { ...given, account }
}

/** Throws the error of `missing` if the actor may not read the account. */
export function requireOwn (
  { account: own }: { account: string | null }, account: string, missing: () => GatewayError
): void {
  if (own !== null && own !== account) throw missing()
}

/**
 * An entry for the users of an account, without the names of other accounts and the operator's notes.
 */
export function withoutOthers<Item extends { debit: string, credit: string, reason: string | null }> (
  entry: Item, own: string
): Item {
  const shown = (id: string): string => id === own || ownAccounts.includes(id) ? id : 'another account'
  return { ...entry, debit: shown(entry.debit), credit: shown(entry.credit), reason: null }
}

/** The operator's costs and providers' messages are hidden from users. */
const ofOperators: Readonly<Record<string, unknown>> = {
  provider_cost_usd: null,
  provider_cost_nano: null,
  margin_usd: null,
  margin_nano: null,
  reported_cost_nano: null,
  costed_requests: 0,
  provider_words: null,
  words: null,
  handle: null,
  node: null,
  node_seen_at: null,
  copy_error: null
}

/** Returns a list or an item of the admin API without the fields for operators. */
export function forUsers (payload: unknown): unknown {
  if (Array.isArray(payload)) return payload.map(forUsers)
  if (!isObject(payload)) return payload
  const fields = Object.entries(payload).map(([name, value]): [string, unknown] => {
    if (name === 'data' || name === 'attempts') return [name, forUsers(value)]
    const isHidden = name in ofOperators || (name === 'actor' && payload['object'] === 'entry')
    return [name, isHidden ? ofOperators[name] ?? null : value]
  })
  return Object.fromEntries(fields)
}

function otherAccount (own: string): GatewayError {
  return new GatewayError(403, 'invalid_request_error',
    `Your key may read only the account \`${own}\`.`, { code: 'insufficient_permissions' })
}
