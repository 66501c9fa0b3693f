import { Key, KeyChange, KeyList, KeyQuery, KeyWithSecret, NewKey, Rotation } from '../../../../schemas/admin/keys.ts'
import { fields, type Column } from '../format/columns.ts'
import { amountText } from '../amounts.ts'
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from '../keys.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest } from '../query.ts'
import { limitsOption, limitsText } from './limits.ts'

const settings = {
  limits: limitsOption,
  label: option('--label <text>', 'label of the key'),
  models: option('--models <globs>', 'models it may use, e.g. "gpt-*,sandbox-chat"',
    { as: 'list', none: 'allow all models' }),
  regions: option('--regions <globs>', 'regions of providers that may process its requests, e.g. "eu,europe-*"',
    { as: 'list', none: 'allow all regions' }),
  budget: option('--budget <amount>', 'most it may spend, in US dollars',
    { as: 'budget', period: 'how often its budget restarts', none: 'remove its budget' }),
  expires_at: option('--expires <time>', 'time at which it expires', { as: 'time', none: 'remove its expiry time' })
}

/** The API keys of apps and operators. */
export const keyOperations = [
  operation('GET /keys', 'read', {
    ownAccount: 'query',
    summary: 'List the keys',
    query: KeyQuery,
    result: KeyList,
    run: (administration, { query }) => listKeys(administration, { ...query, ...toPageRequest(query) }),
    command: {
      name: 'keys list',
      description: 'list keys, newest first',
      options: {
        account: option('--account <account>', 'only keys of this account'),
        search: option('--search <text>', 'only keys whose label or id begins with this')
      },
      columns: (_query, now) => columnsAt(now)
    }
  }),
  operation('POST /keys', 'operate', {
    summary: 'Create a key; only this response contains its secret',
    body: NewKey,
    result: KeyWithSecret,
    status: 201,
    run: (administration, { body }) => createKey(administration, body),
    command: {
      name: 'keys create',
      description: 'create a key and print it; it cannot be shown again',
      options: {
        ...settings,
        account: option('--account <account>', 'account that pays for its requests', { default: 'default' }),
        role: option('--role <role>', 'user, or for a key of the admin API: owner (everything), operator (keys, ' +
          'accounts, jobs), finance (credits, books), viewer (reads)', { default: 'user' })
      },
      text: ({ key }) => `${key}\n`
    }
  }),
  operation('GET /keys/:id', 'read', {
    ownAccount: 'handler',
    summary: 'Show a key',
    result: Key,
    run: (administration, { id }) => getKey(administration, id)
  }),
  operation('PATCH /keys/:id', 'operate', {
    summary: 'Change the settings of a key; absent fields keep their values',
    body: KeyChange,
    result: Key,
    run: (administration, { id, body }) => updateKey(administration, id, body),
    command: {
      name: 'keys update <id>',
      description: 'change the settings of a key; omitted settings keep their values',
      options: settings,
      text: ({ id }) => `Updated the key ${id}.\n`
    }
  }),
  operation('POST /keys/:id/rotate', 'operate', {
    summary: 'Replace the secret of a key; the old secret keeps working for a grace period',
    body: Rotation,
    isBodyOptional: true,
    result: KeyWithSecret,
    run: (administration, { id, body }) => rotateKey(administration, id, body),
    command: {
      name: 'keys rotate <id>',
      description: 'replace the secret of a key and print the new key; it cannot be shown again',
      options: {
        grace_seconds: option('--grace <time>', 'how long the old secret stays valid, e.g. 30m, 24h or 0 (default: 24h)',
          { as: 'duration' })
      },
      text: ({ key }) => `${key}\n`
    }
  }),
  operation('POST /keys/:id/revoke', 'operate', {
    summary: 'Revoke a key for good',
    result: Key,
    run: (administration, { id }) => revokeKey(administration, id),
    command: {
      name: 'keys revoke <id>',
      description: 'revoke a key permanently; it stops working within two seconds',
      text: ({ id }) => `Revoked the key ${id}.\n`
    }
  })
]

function columnsAt (now: number): Column<Key>[] {
  return [
    ...fields('id', 'role', 'account', 'label'),
    { name: 'models', cell: ({ models }) => models?.join(',') ?? 'all' },
    { name: 'budget', numeric: true, cell: ({ budget }) => budget === null ? '' : amountText(budget.amount_nano) },
    { name: 'period', cell: ({ budget }) => budget?.period ?? '' },
    { name: 'spent', numeric: true, cell: ({ budget }) => budget === null ? '' : amountText(budget.spent_nano) },
    { name: 'limits', cell: ({ limits }) => limitsText(limits) },
    { name: 'created', cell: key => dateOf(key.created_at) },
    { name: 'last_used', cell: key => dateOf(key.last_used_at) },
    { name: 'state', cell: key => stateOf(key, now) }
  ]
}

function stateOf (key: Key, now: number): string {
  if (key.revoked_at !== null) return `revoked ${dateOf(key.revoked_at)}`
  if (key.expires_at === null) return 'active'
  return `${Date.parse(key.expires_at) > now ? 'active until' : 'expired'} ${dateOf(key.expires_at)}`
}

function dateOf (time: string | null): string {
  return time?.slice(0, 10) ?? ''
}
