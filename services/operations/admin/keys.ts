import type { Static } from '@sinclair/typebox'
import type { Key, KeyChange, KeyQuery, KeyWithSecret, NewKey, Rotation } from '../../../schemas/admin/keys.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isoTime, isoTimeOrNull, readIsoTime } from '../../shared/iso-time.ts'
import { noLimits, type Limits } from '../../shared/limits.ts'
import { budgetAccounts } from '../../keys/budgets.ts'
import { unknownKey } from '../../keys/errors.ts'
import { requirePermission, type Permission } from '../../keys/roles.ts'
import { settingsOf, shownSettings } from '../../keys/settings.ts'
import type { Budget, KeyRole, KeySettings, ListedKey } from '../../keys/types.ts'
import { createJsonIds } from '../../store/json-rows.ts'
import { nameMatch } from '../../store/name-search.ts'
import type { Administration } from './administration.ts'
import { amountFields, requiredNanoOf, withinRange } from './amounts.ts'
import { mergeLimits } from './limits.ts'
import { requireOwn } from './own-account.ts'
import { readPage, type Page, type ListRequest } from './page.ts'

export type KeyRequest = ListRequest<Static<typeof KeyQuery>>

/** Creates a key and returns it with its secret. Throws GatewayError 400 for a wrong account or setting. */
export async function createKey (
  administration: Administration, { account, role = 'user', ...change }: NewKey
): Promise<KeyWithSecret> {
  const { actor } = administration
  requirePermission(actor, permissionFor(role))
  const { id, key } = await administration.keys.create({ ...toSettings(change), account, role, actor })
  return { ...await getKey(administration, id), key }
}

/** Returns a key without its secret. Throws GatewayError 404. */
export async function getKey (administration: Administration, id: string): Promise<Key> {
  const found = await administration.keys.get(id)
  requireOwn(administration.actor, found.account, () => unknownKey(id))
  const spentNano = await spentOf(administration, [found])
  return toKey(found, spentNano(found))
}

/** Lists keys, newest first, or search results by their match. Throws GatewayError 400 for a bad page. */
export async function listKeys (
  administration: Administration, { search, ...request }: KeyRequest = {}
): Promise<Page<Key>> {
  const { keys } = administration
  const { account = null } = request
  const withSpent = async (found: ListedKey[]) => {
    const spentNano = await spentOf(administration, found)
    return found.map(key => ({ key, spentNano: spentNano(key) }))
  }
  const toItem = ({ key, spentNano }: { key: ListedKey, spentNano: number }) => toKey(key, spentNano)
  if (search === undefined) {
    return await readPage(request, {
      example: [''],
      read: async (after, limit) =>
        await withSpent(await keys.list({ account, after: after?.[0] ?? null, limit })),
      toItem,
      cursorOf: ({ key }) => [key.id]
    })
  }
  return await readPage(request, {
    example: ['', ''],
    read: async (after, limit) =>
      await withSpent(await keys.search({ account, prefix: search, after: after ?? null, limit })),
    toItem,
    cursorOf: ({ key: { label, id } }) => nameMatch(search, label, id)
  })
}

/**
 * Changes the given settings. Throws GatewayError 400 for wrong settings, 404 for an unknown key, 409 for a
 * revoked one.
 */
export async function updateKey (
  administration: Administration, id: string, change: KeyChange
): Promise<Key> {
  const before = await authorizedKey(administration, id)
  await administration.keys.update(id, toSettings(change, before.limits), administration.actor)
  return await getKey(administration, id)
}

/** Replaces the secret of a key and returns the new one. Throws GatewayError 404, 409 for a revoked key. */
export async function rotateKey (
  administration: Administration, id: string, { grace_seconds: graceS }: Rotation
): Promise<KeyWithSecret> {
  await authorizedKey(administration, id)
  const grace = graceS === undefined ? {} : { graceMs: graceS * 1_000 }
  const { key } = await administration.keys.rotate(id, grace, administration.actor)
  return { ...await getKey(administration, id), key }
}

/** Revokes a key; no effect on a revoked one. Throws GatewayError 404. */
export async function revokeKey (administration: Administration, id: string): Promise<Key> {
  await authorizedKey(administration, id)
  await administration.keys.revoke(id, administration.actor)
  return await getKey(administration, id)
}

/** Only owners manage admin keys: a new secret of an owner's key would make its recipient an owner. */
async function authorizedKey ({ keys, actor }: Administration, id: string): Promise<ListedKey> {
  const key = await keys.get(id)
  requirePermission(actor, permissionFor(key.role))
  return key
}

function permissionFor (role: KeyRole): Permission {
  return role === 'user' ? 'operate' : 'own'
}

/** The settings of a request; those with one form are taken as they are. */
function toSettings (
  { models, regions, budget, expires_at: expiresAt, limits, ...plain }: KeyChange, before: Limits = noLimits
): Partial<KeySettings> {
  return {
    ...plain,
    ...(limits !== undefined && { limits: mergeLimits(limits, before) }),
    ...(models !== undefined && { models: globsOf('models', models) }),
    ...(regions !== undefined && { regions: globsOf('regions', regions) }),
    ...(budget !== undefined && { budget: budget === null ? null : toBudget(budget) }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : toTime(expiresAt) })
  }
}

/** Rejects an empty list: it would allow nothing, but reads as if it allowed all. */
function globsOf (param: string, globs: string[] | null): string[] | null {
  if (globs?.length !== 0) return globs
  throw GatewayError.invalidRequest(`Invalid '${param}': empty array.`, { param, code: 'empty_array' })
}

function toBudget ({ period = null, ...given }: NonNullable<KeyChange['budget']>): Budget {
  return { limitNano: requiredNanoOf(given), period }
}

function toTime (text: string): number {
  return withinRange('expires_at', () => readIsoTime(text))
}

/** Returns the spending of keys on their budgets, in nano-USD; 0 for an unused or missing budget. */
async function spentOf (
  { store, flush }: Administration, keys: readonly ListedKey[]
): Promise<(key: ListedKey) => number> {
  const now = store.clock()
  const accountOf = ({ id, budget }: ListedKey) => budget === null ? '' : budgetAccounts(id, budget, now).account
  const accounts = keys.map(accountOf).filter((id) => id !== '')
  if (accounts.length === 0) return () => 0

  await flush()
  const ids = createJsonIds(store.engine)
  const rows = await store.reports.all<{ id: string, spentNano: number }>(
    `select id, spent as "spentNano" from account where id in (select id from ${ids.sql} as requested)`,
    [ids.parameter(accounts)])
  const spent = new Map(rows.map(({ id, spentNano }) => [id, spentNano]))
  return (key) => spent.get(accountOf(key)) ?? 0
}

function toKey (key: ListedKey, spentNano: number): Key {
  const { budget, ...settings } = shownSettings(settingsOf(key))
  return {
    object: 'key',
    id: key.id,
    role: key.role,
    account: key.account,
    ...settings,
    budget: budget === null
      ? null
      : { ...amountFields('amount', budget.amount_nano), period: budget.period, ...amountFields('spent', spentNano) },
    created_at: isoTime(key.createdAt),
    revoked_at: isoTimeOrNull(key.revokedAt),
    last_used_at: isoTimeOrNull(key.lastUsedAt),
    previous_until: isoTimeOrNull(key.previousUntil)
  }
}
