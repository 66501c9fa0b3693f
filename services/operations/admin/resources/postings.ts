import type { Static, TObject } from '@sinclair/typebox'
import {
  NewAdjustment, NewDeposit, NewRefund, NewTransfer, NewWithdrawal, PostingHeaders
} from '../../../../schemas/admin/accounts.ts'
import { Entry } from '../../../../schemas/admin/entries.ts'
import { GatewayError } from '../../../shared/errors.ts'
import { getAccount } from '../accounts.ts'
import type { Administration } from '../administration.ts'
import { amountText } from '../amounts.ts'
import { addAdjustment, addDeposit, addRefund, addTransfer, addWithdrawal, type Booked } from '../credits.ts'
import { operation, option, type FieldOption, type AdminOperation, type TextContext } from '../operation.ts'

const reason = option('--reason <text>', 'the reason, recorded in the ledger')
const requiredReason: FieldOption = { ...reason, required: true }
const amountToTake = 'amount in US dollars, or "all" for everything that is neither held nor allocated'

/** What books money. */
export const postingOperations = [
  posting('deposits', 'Book money into an account', NewDeposit, addDeposit, {
    name: 'credits add <account> <amount>',
    description: 'add credits to an account',
    args: { amount: 'amount in US dollars, above zero' }
  }),
  posting('withdrawals', 'Withdraw money from an account, even while requests run', NewWithdrawal, addWithdrawal, {
    name: 'credits withdraw <account> <amount>',
    description: 'pay credits out of an account, even while requests run',
    args: { amount: amountToTake },
    options: { reason: requiredReason }
  }),
  posting('transfers', 'Move money to another account, or allocate it to one below', NewTransfer, addTransfer, {
    name: 'credits transfer <from> <to> <amount>',
    description: 'move credits to another account, or allocate them to one below',
    args: { amount: amountToTake },
    options: { reason }
  }),
  posting('refunds', 'Refund the charge of a request', NewRefund, addRefund, {
    name: 'credits refund <account> <entry> [amount]',
    description: 'refund the charge of a request; `tollgate ledger entries` lists the ids of entries',
    args: { amount: 'amount in US dollars (default: everything not yet refunded)' }
  }),
  posting('adjustments', 'Add to the credits of an account or deduct from them', NewAdjustment, addAdjustment, {
    name: 'credits adjust <account> <amount>',
    description: 'correct the credits of an account',
    args: { amount: 'amount in US dollars; a negative amount removes credits' },
    options: { reason: requiredReason }
  })
]

interface PostingCommand {
  name: string
  description: string
  args: Record<string, string>
  options?: Record<string, FieldOption>
}

function posting<Body extends TObject> (
  collection: string,
  summary: string,
  body: Body,
  add: (administration: Administration, account: string, body: Static<Body>) => Promise<Booked>,
  { options, ...command }: PostingCommand
): AdminOperation {
  return operation(`POST /accounts/:id/${collection}`, 'money', {
    summary,
    body,
    headers: PostingHeaders,
    result: Entry,
    async make (administration, { id, body, idempotencyKey }) {
      const { entry, created } = await add(administration, id, named(body, idempotencyKey))
      return { made: entry, created }
    },
    command: {
      ...command,
      options: {
        id: option('--id <id>', 'your own id for this posting; repeating it with the same id has no effect'),
        ...options
      },
      text
    }
  })
}

/** Adds the id from the body or the header to the posting. Throws GatewayError 400 if they differ. */
function named<Body extends { id?: string }> (body: Body, key: string | undefined): Body {
  if (key === undefined || key === body.id) return body
  if (body.id === undefined) return { ...body, id: key }
  throw GatewayError.invalidRequest('The field \'id\' and the header \'Idempotency-Key\' name different postings.',
    { param: 'id', code: 'invalid_value' })
}

async function text (entry: Entry, { administration, id, created }: TextContext): Promise<string> {
  const { balance_nano: balance } = await getAccount(administration, id)
  const status = created ? 'Booked' : 'Already booked:'
  return `${status} ${entry.kind} ${entry.id}: ${amountText(entry.amount_nano)} from ${entry.debit} to ${entry.credit}.\n` +
    `The balance of ${id} is ${amountText(balance)}.\n`
}
