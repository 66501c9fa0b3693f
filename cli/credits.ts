import type { Command } from 'commander'
import type { Account } from '../schemas/admin/accounts.ts'
import { getAccount } from '../services/operations/admin/accounts.ts'
import type { Administration } from '../services/operations/admin/administration.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import {
  addAdjustment, addDeposit, addRefund, addTransfer, addWithdrawal, type Booked
} from '../services/operations/admin/credits.ts'
import { parseAmount, parseAmountOrAll, withJson } from './options.ts'
import type { JsonOption, Session } from './session.ts'

type PostingOptions = JsonOption & { id?: string }
type ReasonedOptions = PostingOptions & { reason: string }

/** Adds `credits add`, `withdraw`, `transfer`, `refund` and `adjust`. */
export function addCreditCommands (program: Command, session: Session): void {
  const credits = program.command('credits').description('manage the credits of accounts, in US dollars')

  posting(credits, 'add <account>')
    .description('add credits to an account')
    .argument('<amount>', 'amount in US dollars, above zero', parseAmount)
    .action(async (account: string, nano: number, { json, ...posted }: PostingOptions) =>
      await book(session, { json }, account, async (administration) =>
        await addDeposit(administration, account, { ...posted, amount_nano: nano })))

  posting(credits, 'withdraw <account>')
    .description('pay credits out of an account, even while requests run')
    .argument('<amount>', 'amount in US dollars, or "all" for everything that is neither held nor allocated', parseAmountOrAll)
    .requiredOption('--reason <text>', 'the reason, recorded in the ledger')
    .action(async (account: string, amount: number | 'all', { json, ...posted }: ReasonedOptions) =>
      await book(session, { json }, account, async (administration) =>
        await addWithdrawal(administration, account, { ...posted, ...amountOf(amount) })))

  posting(credits, 'transfer <from> <to>')
    .description('move credits to another account, or allocate them to one below')
    .argument('<amount>', 'amount in US dollars, or "all" for everything that is neither held nor allocated', parseAmountOrAll)
    .option('--reason <text>', 'the reason, recorded in the ledger')
    .action(async (from: string, to: string, amount: number | 'all', options: PostingOptions & { reason?: string }) => {
      const { json, ...posted } = options
      await book(session, { json }, from, async (administration) =>
        await addTransfer(administration, from, { ...posted, to, ...amountOf(amount) }))
    })

  posting(credits, 'refund <account> <entry>')
    .description('refund the charge of a request; `tollgate ledger entries` lists the ids of entries')
    .argument('[amount]', 'amount in US dollars (default: everything not yet refunded)', parseAmount)
    .action(async (account: string, entry: string, nano: number | undefined, options: PostingOptions) => {
      const { json, ...posted } = options
      const refund = { ...posted, entry, ...(nano !== undefined && { amount_nano: nano }) }
      await book(session, { json }, account, async (administration) =>
        await addRefund(administration, account, refund))
    })

  posting(credits, 'adjust <account>')
    .description('correct the credits of an account')
    .argument('<amount>', 'amount in US dollars; a negative amount removes credits', parseAmount)
    .requiredOption('--reason <text>', 'the reason, recorded in the ledger')
    .action(async (account: string, nano: number, { json, ...posted }: ReasonedOptions) =>
      await book(session, { json }, account, async (administration) =>
        await addAdjustment(administration, account, { ...posted, amount_nano: nano })))
}

function amountOf (amount: number | 'all') {
  return amount === 'all' ? { amount } : { amount_nano: amount }
}

function posting (credits: Command, nameAndArguments: string): Command {
  return withJson(credits.command(nameAndArguments))
    .option('--id <id>', 'your own id for this posting; repeating it with the same id has no effect')
}

async function book (
  session: Session, options: JsonOption, id: string, work: (administration: Administration) => Promise<Booked>
): Promise<void> {
  const { booked, account } = await session.administer(async (administration) => ({
    booked: await work(administration),
    account: await getAccount(administration, id)
  }))
  session.print(options, booked.entry, () => describe(booked, account))
}

function describe ({ entry, created }: Booked, { id, balance_nano: balance }: Account): string {
  const status = created ? 'Booked' : 'Already booked:'
  return `${status} ${entry.kind} ${entry.id}: ${amountText(entry.amount_nano)} from ${entry.debit} to ${entry.credit}.\n` +
    `The balance of ${id} is ${amountText(balance)}.\n`
}
