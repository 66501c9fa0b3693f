import { GatewayError } from '../shared/errors.ts'
import { usdFromNano } from '../shared/money.ts'

interface Shortage { balanceNano: number, heldNano: number, neededNano: number }

/** 402: an account of the chain cannot cover the most that a request may cost. */
export function insufficientQuota ({ balanceNano, heldNano, neededNano }: Shortage): GatewayError {
  return new GatewayError(402, 'insufficient_quota',
    'You exceeded your current quota, please check your plan and billing details. ' +
    `This request may cost up to ${usd(neededNano)}; your balance is ${usd(balanceNano)}, of which ` +
    `${usd(heldNano)} is held for requests that are still running.`,
    // A retry would fail as well; the official clients obey this header.
    { code: 'insufficient_quota', headers: { 'x-should-retry': 'false' } })
}

/** 401: the key was valid when the request arrived, but has ended. */
export function endedKey (id: string, why: 'revoked' | 'expired' | 'unknown'): GatewayError {
  const what = why === 'unknown' ? 'is not known' : `has ${why === 'revoked' ? 'been revoked' : 'expired'}`
  return GatewayError.unauthorized(
    `The API key provided ${what}: sk-tg-${id}-****. Ask the operator of this gateway for a valid key.`)
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

function usd (nano: number): string {
  const text = Math.abs(usdFromNano(nano)).toFixed(9).replace(/(\.\d{2,}?)0+$/, '$1')
  return nano < 0 ? `-$${text}` : `$${text}`
}
