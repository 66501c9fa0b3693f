import {
  Account, AccountChange, AccountList, AccountQuery, Closing, Freezing, NewAccount, WebhookSecret
} from '../../../../schemas/admin/accounts.ts'
import {
  closeAccount, createAccount, freezeAccount, getAccount, listAccounts, updateAccount, withoutParent
} from '../accounts.ts'
import { amounts, fields } from '../format/columns.ts'
import { operation, option, type AdminOperation } from '../operation.ts'
import { toPageRequest } from '../query.ts'
import { getWebhookSecret, renewWebhookSecret } from '../webhook-secrets.ts'
import { limitsOption, limitsText } from './limits.ts'

const reason = option('--reason <text>', 'the reason, recorded in the audit log')

/** The accounts, without what books money. */
export const accountOperations = [
  operation('GET /accounts', 'read', {
    summary: 'List the accounts and their balances',
    query: AccountQuery,
    result: AccountList,
    run: (administration, { query }) => listAccounts(administration, { ...query, ...toPageRequest(query) }),
    command: {
      name: 'accounts list',
      description: 'list the accounts and their balances in US dollars',
      options: { search: option('--search <text>', 'only accounts whose name or id begins with this') },
      columns: () => [
        ...fields('id', 'name', 'parent'),
        ...amounts(['credits', 'spent', 'held', 'available']),
        ...fields('state'),
        { name: 'limits', cell: ({ limits }) => limitsText(limits) }
      ]
    }
  }),
  operation('POST /accounts', 'operate', {
    summary: 'Create an account; the same one again changes nothing',
    body: NewAccount,
    result: Account,
    async make (administration, { body: { name, parent, ...body } }) {
      // A script may give empty options.
      const given = { ...body, ...(name && { name }), ...(parent && { parent }) }
      const { account, created } = await createAccount(administration, given)
      return { made: account, created }
    },
    command: {
      name: 'accounts create <id>',
      description: 'create an account without credit',
      options: {
        limits: limitsOption,
        name: option('--name <name>', 'display name (default: the id)'),
        parent: option('--parent <account>', 'the parent account')
      },
      text: ({ id }, { created }) => created
        ? `Created the account ${id}.\n`
        : `The account ${id} already exists with these settings; nothing was changed.\n`
    }
  }),
  operation('GET /accounts/:id', 'read', {
    ownAccount: 'path',
    summary: 'Show an account and its credits',
    result: Account,
    async run (administration, { id }) {
      const account = await getAccount(administration, id)
      return administration.actor.account === null ? account : withoutParent(account)
    }
  }),
  operation('PATCH /accounts/:id', 'operate', {
    summary: 'Rename an account, change its limits or move it to another parent; absent fields keep their values',
    body: AccountChange,
    result: Account,
    run: (administration, { id, body }) => updateAccount(administration, id, body),
    command: {
      name: 'accounts update <id>',
      description: 'change an account; omitted options keep their values',
      options: {
        limits: limitsOption,
        name: option('--name <name>', 'display name'),
        parent: option('--parent <account>', 'move it, with its money, below another account; only if it is frozen',
          { none: 'move it out of its parent' }),
        soft_budget: option('--soft-budget <amount>',
          'report thresholds of this amount in US dollars; does not refuse requests',
          { as: 'budget', period: 'how often the soft budget restarts', none: 'remove the soft budget' }),
        low_balance: option('--low-balance <amount>', 'report a balance below this amount in US dollars',
          { as: 'amount', none: 'report a low balance as configured in gateway.yaml' })
      },
      text: ({ id }) => `Updated the account ${id}.\n`
    }
  }),
  operation('GET /accounts/:id/webhook-secret', 'operate', {
    summary: 'Show the secret that signs the webhooks of an account',
    result: WebhookSecret,
    run: (administration, { id }) => getWebhookSecret(administration, id),
    command: {
      name: 'accounts webhook-secret <id>',
      description: 'show the secret that signs the webhooks of an account',
      text: secretText
    }
  }),
  operation('POST /accounts/:id/webhook-secret/rotate', 'operate', {
    summary: 'Replace the secret that signs the webhooks of an account; the old one also signs for 24 hours',
    result: WebhookSecret,
    run: (administration, { id }) => renewWebhookSecret(administration, id),
    command: {
      name: 'accounts rotate-webhook-secret <id>',
      description: 'replace that secret; the old one also signs for 24 hours',
      text: secretText
    }
  }),
  freezing('freeze', 'Reject requests of an account and of accounts below it', {
    description: 'refuse requests of an account and of accounts below it, within two seconds',
    text: ({ id }) => `Froze the account ${id}.\n`
  }),
  freezing('unfreeze', 'Accept requests of a frozen account again', {
    description: 'accept requests of a frozen account again',
    text: ({ id }) => `The account ${id} is active again.\n`
  }),
  operation('POST /accounts/:id/close', 'own', {
    summary: 'Close an account for good',
    body: Closing,
    isBodyOptional: true,
    result: Account,
    run: (administration, { id, body }) => closeAccount(administration, id, body),
    command: {
      name: 'accounts close <id>',
      description: 'close an account for good; it must be empty',
      options: {
        reason,
        take_out: option('--take-out', 'move the remaining credits to the parent, or out of the books')
      },
      text: ({ id }) => `Closed the account ${id}.\n`
    }
  })
]

function freezing (
  how: 'freeze' | 'unfreeze', summary: string, command: { description: string, text (account: Account): string }
): AdminOperation {
  return operation(`POST /accounts/:id/${how}`, 'operate', {
    summary,
    body: Freezing,
    isBodyOptional: true,
    result: Account,
    run: (administration, { id, body }) => freezeAccount(administration, id, { ...body, how }),
    command: { name: `accounts ${how} <id>`, options: { reason }, ...command }
  })
}

function secretText ({ secret, previous_until: until }: WebhookSecret): string {
  return until === null ? `${secret}\n` : `${secret}\nThe old secret also signs until ${until}.\n`
}
