import { GatewayError } from '../../shared/errors.ts'
import { usdFromNano } from '../../shared/money.ts'

/** Whose money does not suffice: the paying account's, an account's above it, or the budget's of the key. */
export type ShortOf = 'account' | 'parent' | 'budget'

interface Shortage { of: ShortOf, balanceNano: number, heldNano: number, neededNano: number }

/** 402: an account of the chain has spent too much to cover the most that a request may cost. */
export function insufficientQuota (shortage: Shortage): GatewayError {
  return new GatewayError(402, 'insufficient_quota',
    'You exceeded your current quota, please check your plan and billing details. ' +
    `This request may cost up to ${usd(shortage.neededNano)}; ${leftOf(shortage)}.`,
    // A retry would fail as well; the official clients obey this header.
    { code: 'insufficient_quota', headers: { 'x-should-retry': 'false' } })
}

/** The figures that the key may see: never those of an account above its own. */
function leftOf ({ of, balanceNano, heldNano }: Shortage): string {
  if (of === 'parent') return 'an account above yours does not have that much left'
  const balance = usd(balanceNano)
  const left = of === 'budget' ? `the budget of your API key has ${balance} left` : `your balance is ${balance}`
  return `${left}, of which ${usd(heldNano)} is held for requests that are still running`
}

const retryAfterMs = 1000

/**
 * 429: the account would cover the request if it did not hold money for others, which will be charged less.
 * The official clients repeat a 429, and read `retry-after-ms` first: openai-node 7.55, openai-python 3.54.
 */
export class FundsHeld extends GatewayError {
  /** The account that is short. */
  readonly account: string

  constructor (account: string, neededNano: number) {
    // So that requests that were refused together do not come back together.
    const waitMs = Math.ceil(retryAfterMs * (1 + Math.random()))
    const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)), 'retry-after-ms': String(waitMs) }
    super(429, 'rate_limit_exceeded',
      `This request may cost up to ${usd(neededNano)}. The money for it is held for other requests that are still ` +
      `running. Please try again in ${waitMs}ms.`, { code: 'insufficient_funds_held', headers })
    this.name = 'FundsHeld'
    this.account = account
  }
}

/** 503: another transaction keeps an account of the chain locked. */
export class AccountLocked extends GatewayError {
  readonly account: string

  constructor (account: string) {
    super(503, 'service_unavailable_error', 'The account of this request is being changed. Please try again in a second.',
      { code: 'account_locked', headers: { 'retry-after': '1' } })
    this.name = 'AccountLocked'
    this.account = account
  }
}

/** 401: the key was valid when the request arrived, but has ended. */
export function endedKey (id: string, why: 'revoked' | 'expired' | 'unknown'): GatewayError {
  const what = why === 'unknown' ? 'is not known' : `has ${why === 'revoked' ? 'been revoked' : 'expired'}`
  return GatewayError.unauthorized(
    `The API key provided ${what}: sk-tg-${id}-****. Ask the operator of this gateway for a valid key.`)
}

/** 400: an operator takes more than an account has free. */
export class LacksCredit extends GatewayError {
  readonly account: string

  constructor (account: string) {
    super(400, 'invalid_request_error',
      `Less is available on the account \`${account}\`; money that is held for requests or allocated to ` +
      'accounts below cannot be taken.', { param: 'amount', code: 'insufficient_credits' })
    this.account = account
  }
}

/** 409: the account is closed and keeps its history only. */
export function closedAccount (id: string): GatewayError {
  return new GatewayError(409, 'invalid_request_error', `The account \`${id}\` is closed.`, { code: 'account_closed' })
}

/** 409: an account cannot be moved or closed in its present state. */
export function accountBusy (id: string, code: string, why: string): GatewayError {
  return new GatewayError(409, 'invalid_request_error', `The account \`${id}\` ${why}.`, { code })
}

/** 404: no account has this id. */
export function unknownAccount (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `The account \`${id}\` does not exist.`,
    { code: 'account_not_found' })
}

/** 409: the id was used before for something else. */
export function idempotencyConflict (id: string, what: string): GatewayError {
  return new GatewayError(409, 'invalid_request_error', `The id \`${id}\` belongs to another ${what}.`,
    { param: 'id', code: 'idempotency_conflict' })
}

/** An account counts all credits that it ever got, also those that are spent. */
export function creditsExceeded (account: string): RangeError {
  return new RangeError(
    `the account \`${account}\` would have got more than $9,007,199.254740991 in its lifetime, which the books can ` +
    'hold; create another account')
}

function usd (nano: number): string {
  const text = Math.abs(usdFromNano(nano)).toFixed(9).replace(/(\.\d{2,}?)0+$/, '$1')
  return nano < 0 ? `-$${text}` : `$${text}`
}
