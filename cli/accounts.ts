import type { Command } from 'commander'
import type { Account } from '../schemas/admin/accounts.ts'
import { createAccount, listAccounts, updateAccount } from '../services/admin/accounts.ts'
import { amountText } from '../services/admin/amounts.ts'
import type { PageRequest } from '../services/admin/page.ts'
import type { Column } from '../services/admin/format/columns.ts'
import { limitsOf, limitsText, withLimits, withoutLimits, type LimitOptions } from './limits.ts'
import { withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `accounts create`, `list` and `update`. */
export function addAccountCommands (program: Command, session: Session): void {
  const accounts = program.command('accounts').description('manage the accounts that pay for requests')

  withLimits(withJson(accounts.command('create <id>')))
    .description('create an account without credit')
    .option('--name <name>', 'display name (default: the id)')
    .option('--parent <account>', 'parent account, which also pays for the requests of this one')
    .action(async (id: string, { name, parent, ...options }: CreateOptions) => {
      const given = { id, ...(name && { name }), ...(parent && { parent }), ...limitsOf(options) }
      const { account, created } = await session.administer(async (administration) =>
        await createAccount(administration, given))
      session.print(options, account, () => created
        ? `Created the account ${account.id}.\n`
        : `The account ${account.id} already exists with these settings; nothing was changed.\n`)
    })

  withoutLimits(withLimits(withJson(accounts.command('update <id>'))))
    .description('change the limits of an account; omitted limits stay as they are')
    .action(async (id: string, options: JsonOption & LimitOptions) =>
      await session.show(options, administration => updateAccount(administration, id, limitsOf(options)),
        account => `Updated the account ${account.id}.\n`))

  withPaging(withJson(accounts.command('list')))
    .description('list the accounts and their balances in US dollars')
    .action(async (options: JsonOption & PageRequest) =>
      await session.list(options, columns, administration => listAccounts(administration, options)))
}

type CreateOptions = JsonOption & LimitOptions & { name?: string, parent?: string }

const columns: Column<Account>[] = [
  { name: 'id', cell: ({ id }) => id },
  { name: 'name', cell: ({ name }) => name },
  { name: 'parent', cell: ({ parent }) => parent ?? '' },
  { name: 'credits', numeric: true, cell: (account) => amountText(account.credits_nano) },
  { name: 'spent', numeric: true, cell: (account) => amountText(account.spent_nano) },
  { name: 'held', numeric: true, cell: (account) => amountText(account.held_nano) },
  { name: 'available', numeric: true, cell: (account) => amountText(account.available_nano) },
  { name: 'limits', cell: ({ limits }) => limitsText(limits) }
]
