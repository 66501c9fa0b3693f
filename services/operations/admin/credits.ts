import { randomUUID } from 'node:crypto'
import { PostingId } from '../../../schemas/admin/accounts.ts'
import type {
  NewAdjustment, NewDeposit, NewRefund, NewTransfer, NewWithdrawal
} from '../../../schemas/admin/accounts.ts'
import type { Entry } from '../../../schemas/admin/entries.ts'
import { GatewayError } from '../../shared/errors.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'
import { nanoOf, outOfRange, requiredNanoOf } from './amounts.ts'
import { assertFits } from './assert-fits.ts'
import { getEntry } from './entries.ts'

/** A booked entry; `created` is false if the same posting was booked before. */
export interface Booked { entry: Entry, created: boolean }

/**
 * Adds credits to an account. Throws GatewayError 400 for a wrong amount, 404 for an unknown account, 409 if
 * the id belongs to another posting.
 */
export async function addDeposit (
  administration: Administration, account: string, { id = randomUUID(), ...given }: NewDeposit
): Promise<Booked> {
  const amountNano = requiredNanoOf(given)
  if (amountNano <= 0) throw notPositive(given)
  const { accounts, actor } = administration
  await getAccount(administration, account)
  return await book(administration, id, () => accounts.deposit({ id, account, amountNano, actor }))
}

/**
 * Refunds a charge, by default the part not yet refunded. Throws GatewayError 400 for a larger amount,
 * 404 for an unknown account or entry, 409 if the id belongs to another posting.
 */
export async function addRefund (
  administration: Administration, account: string, { id = randomUUID(), entry, ...given }: NewRefund
): Promise<Booked> {
  const amountNano = nanoOf(given)
  if (amountNano !== undefined && amountNano <= 0) throw notPositive(given)
  await getAccount(administration, account)
  await administration.flush()
  await refuseForeignEntry(administration, account, entry)
  const { actor } = administration
  const refund = { id, entry, ...(amountNano === undefined ? {} : { amountNano }), actor }
  return await book(administration, id, () => administration.corrections.refund(refund))
}

/**
 * Corrects the credits of an account; a negative amount removes credits. Throws GatewayError 400 to remove
 * more than is available, 404 for an unknown account, 409 if the id belongs to another posting.
 */
export async function addAdjustment (
  administration: Administration, account: string, { id = randomUUID(), reason, ...given }: NewAdjustment
): Promise<Booked> {
  const amountNano = requiredNanoOf(given)
  if (amountNano === 0) {
    throw GatewayError.invalidValue(fieldOf(given), 'an adjustment must not be zero')
  }
  await getAccount(administration, account)
  const adjustment = { id, account, amountNano, reason, actor: administration.actor }
  return await book(administration, id, () => administration.corrections.adjust(adjustment))
}

/**
 * Pays credits out. Throws GatewayError 400 for more than is free, 404 for an unknown account, 409 for a
 * closed one or if the id belongs to another posting.
 */
export async function addWithdrawal (
  administration: Administration, account: string, { id = randomUUID(), reason, ...given }: NewWithdrawal
): Promise<Booked> {
  const { transfers, actor } = administration
  const amountNano = amountToTake(given)
  await getAccount(administration, account)
  return await book(administration, id, () => transfers.withdraw({ id, account, amountNano, reason, actor }))
}

/** Moves credits to another account. Throws as `addWithdrawal` does. */
export async function addTransfer (
  administration: Administration, from: string, { id = randomUUID(), to, reason, ...given }: NewTransfer
): Promise<Booked> {
  const { transfers, actor } = administration
  const amountNano = amountToTake(given)
  await getAccount(administration, from)
  const transfer = { id, from, to, amountNano, reason: reason ?? null, actor }
  return await book(administration, id, () => transfers.transfer(transfer))
}

function amountToTake ({ amount, ...given }: GivenToTake): number | 'all' {
  if (amount === undefined) {
    const amountNano = requiredNanoOf(given)
    if (amountNano <= 0) throw notPositive(given)
    return amountNano
  }
  if (nanoOf(given) === undefined) return amount
  throw GatewayError.invalidRequest('Give either \'amount\' or an amount in one unit, not both.', { param: 'amount' })
}

async function book (
  administration: Administration, id: string, posting: () => Promise<boolean>
): Promise<Booked> {
  // Ids with a colon or `entry_` are reserved for the ledger's entries.
  assertFits(PostingId, id, 'id')
  try {
    const created = await posting()
    return { entry: await getEntry(administration, id), created }
  } catch (error) {
    throw outOfRange('amount_usd', error)
  }
}

/** Only usage of the account can be refunded to it; other entries are reported as missing. */
async function refuseForeignEntry (
  administration: Administration, account: string, id: string
): Promise<void> {
  const { kind, debit } = await getEntry(administration, id)
  if (kind === 'usage' && debit === account) return
  throw new GatewayError(404, 'invalid_request_error', `The account \`${account}\` has no usage entry \`${id}\`.`,
    { param: 'entry', code: 'entry_not_found' })
}

type GivenToTake = Pick<NewWithdrawal, 'amount' | 'amount_usd' | 'amount_nano'>
type Given = Pick<NewDeposit, 'amount_usd' | 'amount_nano'>

function notPositive (given: Given): GatewayError {
  return GatewayError.invalidValue(fieldOf(given), 'the amount must be above zero')
}

function fieldOf ({ amount_usd: usd }: Given): string {
  return usd === undefined ? 'amount_nano' : 'amount_usd'
}
