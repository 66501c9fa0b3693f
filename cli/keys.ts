import { Option, type Command } from 'commander'
import { budgetPeriods, keyRoles, type Key, type KeyChange, type KeyWithSecret } from '../schemas/admin/keys.ts'
import { isoTime } from '../services/shared/iso-time.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import { createKey, listKeys, revokeKey, rotateKey, updateKey, type KeyRequest } from '../services/operations/admin/keys.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { limitsOf, limitsText, withLimits, withoutLimits, type LimitOptions } from './limits.ts'
import { parseTime, parseList, parseAmount, parseDuration, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `keys create`, `list`, `update`, `rotate` and `revoke`. */
export function addKeyCommands (program: Command, session: Session): void {
  const keys = program.command('keys').description('manage the API keys of apps and operators')

  withSettings(withJson(keys.command('create')))
    .description('create a key and print it; it cannot be shown again')
    .option('--account <account>', 'account that pays for its requests', 'default')
    .addOption(new Option('--role <role>', 'user, or for a key of the admin API: owner (everything), operator (keys, ' +
      'accounts, jobs), finance (credits, books), viewer (reads)').choices(keyRoles).default('user'))
    .action(async ({ account, role, ...options }: CreateOptions, command: Command) => {
      const given = { account, role, ...toSettings(options, command) }
      await session.show(options, administration => createKey(administration, given), secretOf)
    })

  withPaging(withJson(keys.command('list')))
    .description('list keys, newest first')
    .option('--account <account>', 'only keys of this account')
    .option('--search <text>', 'only keys whose label or id begins with this')
    .action(async (options: JsonOption & KeyRequest) =>
      await session.list(options, columns, administration => listKeys(administration, options)))

  withoutLimits(withSettings(withJson(keys.command('update <id>'))))
    .description('change the settings of a key; omitted settings keep their values')
    .option('--no-models', 'allow all models')
    .option('--no-budget', 'remove its budget')
    .option('--no-expires', 'remove its expiry time')
    .action(async (id: string, options: JsonOption & SettingsOptions, command: Command) => {
      const settings = toSettings(options, command)
      await session.show(options, administration => updateKey(administration, id, settings),
        key => `Updated the key ${key.id}.\n`)
    })

  withJson(keys.command('rotate <id>'))
    .description('replace the secret of a key and print the new key; it cannot be shown again')
    .option('--grace <time>', 'how long the old secret stays valid, e.g. 30m, 24h or 0 (default: 24h)', parseDuration)
    .action(async (id: string, { grace, ...options }: JsonOption & { grace?: number }) => {
      const rotation = grace === undefined ? {} : { grace_seconds: grace }
      await session.show(options, administration => rotateKey(administration, id, rotation), secretOf)
    })

  withJson(keys.command('revoke <id>'))
    .description('revoke a key permanently; it stops working within two seconds')
    .action(async (id: string, options: JsonOption) =>
      await session.show(options, administration => revokeKey(administration, id),
        key => `Revoked the key ${key.id}.\n`))
}

type CreateOptions = JsonOption & SettingsOptions & { account: string, role: typeof keyRoles[number] }

/** False removes the setting. */
interface SettingsOptions extends LimitOptions {
  label?: string
  models?: string[] | false
  budget?: number | false
  period?: typeof budgetPeriods[number]
  expires?: number | false
}

function withSettings (command: Command): Command {
  return withLimits(command)
    .option('--label <text>', 'label of the key')
    .option('--models <globs>', 'models it may use, e.g. "gpt-*,sandbox-chat"', parseList)
    .option('--budget <amount>', 'most it may spend, in US dollars', parseAmount)
    .addOption(new Option('--period <period>', 'how often its budget restarts').choices(budgetPeriods))
    .option('--expires <time>', 'time at which it expires', parseTime)
}

function toSettings (
  { label, models, budget, period, expires, ...limits }: SettingsOptions, command: Command
): KeyChange {
  if (period !== undefined && typeof budget !== 'number') command.error('--period requires --budget')
  return {
    ...limitsOf(limits),
    ...(label !== undefined && { label }),
    ...(models !== undefined && { models: models === false ? null : models }),
    ...(budget === false && { budget: null }),
    ...(typeof budget === 'number' && { budget: { amount_nano: budget, period: period ?? null } }),
    ...(expires !== undefined && { expires_at: expires === false ? null : isoTime(expires) })
  }
}

function secretOf ({ key }: KeyWithSecret): string {
  return `${key}\n`
}

const columns: Column<Key>[] = [
  { name: 'id', cell: ({ id }) => id },
  { name: 'role', cell: ({ role }) => role },
  { name: 'account', cell: ({ account }) => account },
  { name: 'label', cell: ({ label }) => label },
  { name: 'models', cell: ({ models }) => models?.join(',') ?? 'all' },
  { name: 'budget', numeric: true, cell: ({ budget }) => budget === null ? '' : amountText(budget.amount_nano) },
  { name: 'period', cell: ({ budget }) => budget?.period ?? '' },
  { name: 'spent', numeric: true, cell: ({ budget }) => budget === null ? '' : amountText(budget.spent_nano) },
  { name: 'limits', cell: ({ limits }) => limitsText(limits) },
  { name: 'created', cell: (key) => dateOf(key.created_at) },
  { name: 'last_used', cell: (key) => dateOf(key.last_used_at) },
  { name: 'state', cell: stateOf }
]

function stateOf (key: Key): string {
  if (key.revoked_at !== null) return `revoked ${dateOf(key.revoked_at)}`
  if (key.expires_at === null) return 'active'
  return `${Date.parse(key.expires_at) > Date.now() ? 'active until' : 'expired'} ${dateOf(key.expires_at)}`
}

function dateOf (time: string | null): string {
  return time?.slice(0, 10) ?? ''
}
