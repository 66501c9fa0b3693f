import { Option, type Command } from 'commander'
import type { Account, AccountChange, WebhookSecret } from '../schemas/admin/accounts.ts'
import { budgetPeriods } from '../schemas/admin/keys.ts'
import {
  closeAccount, createAccount, freezeAccount, listAccounts, unfreezeAccount, updateAccount,
  type AccountRequest
} from '../services/operations/admin/accounts.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import { getWebhookSecret, renewWebhookSecret } from '../services/operations/admin/webhook-secrets.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { limitsOf, limitsText, withLimits, withoutLimits, type LimitOptions } from './limits.ts'
import { parseAmount, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/**
 * Adds `accounts create`, `list`, `update`, `freeze`, `unfreeze`, `close`, `webhook-secret` and
 * `rotate-webhook-secret`.
 */
export function addAccountCommands (program: Command, session: Session): void {
  const accounts = program.command('accounts').description('manage the accounts that pay for requests')

  withLimits(withJson(accounts.command('create <id>')))
    .description('create an account without credit')
    .option('--name <name>', 'display name (default: the id)')
    .option('--parent <account>', 'the parent account')
    .action(async (id: string, { name, parent, ...options }: CreateOptions) => {
      const given = { id, ...(name && { name }), ...(parent && { parent }), ...limitsOf(options) }
      const { account, created } = await session.administer(async (administration) =>
        await createAccount(administration, given))
      session.print(options, account, () => created
        ? `Created the account ${account.id}.\n`
        : `The account ${account.id} already exists with these settings; nothing was changed.\n`)
    })

  withoutLimits(withLimits(withJson(accounts.command('update <id>'))))
    .description('change an account; omitted options keep their values')
    .option('--name <name>', 'display name')
    .option('--parent <account>', 'move it, with its money, below another account; only if it is frozen')
    .option('--no-parent', 'move it out of its parent')
    .option('--soft-budget <amount>', 'report thresholds of this amount in US dollars; does not refuse requests', parseAmount)
    .addOption(new Option('--period <period>', 'how often the soft budget restarts').choices(budgetPeriods))
    .option('--no-soft-budget', 'remove the soft budget')
    .option('--low-balance <amount>', 'report a balance below this amount in US dollars', parseAmount)
    .option('--no-low-balance', 'report a low balance as configured in gateway.yaml')
    .action(async (id: string, { name, parent, ...options }: UpdateOptions, command: Command) => {
      const moved = parent === undefined ? {} : { parent: parent === false ? null : parent }
      const watched = watchedOf(options, command)
      const change = { ...(name !== undefined && { name }), ...moved, ...limitsOf(options), ...watched }
      await session.show(options, administration => updateAccount(administration, id, change),
        account => `Updated the account ${account.id}.\n`)
    })

  withReason(withJson(accounts.command('freeze <id>')))
    .description('refuse requests of an account and of accounts below it, within two seconds')
    .action(async (id: string, { json, ...given }: ReasonOptions) =>
      await session.show({ json }, administration => freezeAccount(administration, id, given),
        account => `Froze the account ${account.id}.\n`))

  withReason(withJson(accounts.command('unfreeze <id>')))
    .description('accept requests of a frozen account again')
    .action(async (id: string, { json, ...given }: ReasonOptions) =>
      await session.show({ json }, administration => unfreezeAccount(administration, id, given),
        account => `The account ${account.id} is active again.\n`))

  withReason(withJson(accounts.command('close <id>')))
    .description('close an account for good; it must be empty')
    .option('--take-out', 'move the remaining credits to the parent, or out of the books')
    .action(async (id: string, { json, takeOut = false, ...given }: ClosingOptions) => {
      const closing = { take_out: takeOut, ...given }
      await session.show({ json }, administration => closeAccount(administration, id, closing),
        account => `Closed the account ${account.id}.\n`)
    })

  withJson(accounts.command('webhook-secret <id>'))
    .description('show the secret that signs the webhooks of an account')
    .action(async (id: string, options: JsonOption) =>
      await session.show(options, administration => getWebhookSecret(administration, id), secretText))

  withJson(accounts.command('rotate-webhook-secret <id>'))
    .description('replace that secret; the old one also signs for 24 hours')
    .action(async (id: string, options: JsonOption) =>
      await session.show(options, administration => renewWebhookSecret(administration, id), secretText))

  withPaging(withJson(accounts.command('list')))
    .description('list the accounts and their balances in US dollars')
    .option('--search <text>', 'only accounts whose name or id begins with this')
    .action(async (options: JsonOption & AccountRequest) =>
      await session.list(options, columns, administration => listAccounts(administration, options)))
}

/** False removes it. */
interface WatchedOptions {
  softBudget?: number | false
  period?: typeof budgetPeriods[number]
  lowBalance?: number | false
}

function watchedOf (
  { softBudget, period = undefined, lowBalance }: WatchedOptions, command: Command
): Pick<AccountChange, 'soft_budget' | 'low_balance'> {
  if (period !== undefined && typeof softBudget !== 'number') command.error('--period requires --soft-budget')
  return {
    ...(softBudget === false && { soft_budget: null }),
    ...(typeof softBudget === 'number' && { soft_budget: { amount_nano: softBudget, period: period ?? null } }),
    ...(lowBalance === false && { low_balance: null }),
    ...(typeof lowBalance === 'number' && { low_balance: { amount_nano: lowBalance } })
  }
}

function secretText ({ secret, previous_until: until }: WebhookSecret): string {
  return until === null ? `${secret}\n` : `${secret}\nThe old secret also signs until ${until}.\n`
}

function withReason (command: Command): Command {
  return command.option('--reason <text>', 'the reason, recorded in the audit log')
}

type ReasonOptions = JsonOption & { reason?: string }
type ClosingOptions = ReasonOptions & { takeOut?: boolean }
type UpdateOptions = JsonOption & LimitOptions & WatchedOptions & { name?: string, parent?: string | false }
type CreateOptions = JsonOption & LimitOptions & { name?: string, parent?: string }

const columns: Column<Account>[] = [
  { name: 'id', cell: ({ id }) => id },
  { name: 'name', cell: ({ name }) => name },
  { name: 'parent', cell: ({ parent }) => parent ?? '' },
  { name: 'credits', numeric: true, cell: (account) => amountText(account.credits_nano) },
  { name: 'spent', numeric: true, cell: (account) => amountText(account.spent_nano) },
  { name: 'held', numeric: true, cell: (account) => amountText(account.held_nano) },
  { name: 'available', numeric: true, cell: (account) => amountText(account.available_nano) },
  { name: 'state', cell: ({ state }) => state },
  { name: 'limits', cell: ({ limits }) => limitsText(limits) }
]
