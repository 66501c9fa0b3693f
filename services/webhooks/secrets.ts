import { randomBytes } from 'node:crypto'
import type { Queries } from '../store/store.ts'

/** The secrets that sign the webhooks of an account. Each is `whsec_` and base64 of 32 random bytes. */
export interface WebhookSecrets {
  current: string
  /** The one before the last rotation, while it still signs too; else null. */
  previous: string | null
  /** Until when it does, in ms since 1970. */
  previousUntil: number | null
}

/** How long after a rotation messages carry a signature by the old secret too. */
const overlapMs = 24 * 3_600_000

const currentName = (account: string): string => `webhook:${account}`
const previousName = (account: string): string => `webhook-previous:${account}`

interface SecretRow { name: string, value: string, createdAt: number }

/** Returns the secrets of an account, made on first use. Throws StoreUnavailable. */
export async function webhookSecrets (
  queries: Queries, account: string, nowMs: number
): Promise<WebhookSecrets> {
  const found = await readSecrets(queries, account, nowMs)
  if (found !== null) return found
  await queries.run('insert into secret (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing',
    [currentName(account), newSecret(), nowMs])
  const made = await readSecrets(queries, account, nowMs)
  if (made === null) throw new Error('The webhook secret was deleted concurrently.')
  return made
}

/**
 * Gives an account a new secret; the old one signs too for 24 hours, and the one before it no more. Within a
 * transaction. Throws StoreUnavailable.
 */
export async function rotateWebhookSecret (
  queries: Queries, account: string, nowMs: number
): Promise<WebhookSecrets> {
  await webhookSecrets(queries, account, nowMs)
  // Rotations wait for each other at this row.
  await queries.run('update secret set value = value where name = $1', [currentName(account)])
  const { current } = await webhookSecrets(queries, account, nowMs)
  await queries.run(`
    insert into secret (name, value, created_at) values ($1, $2, $3)
    on conflict (name) do update set value = excluded.value, created_at = excluded.created_at`,
  [previousName(account), current, nowMs])
  await queries.run('update secret set value = $2, created_at = $3 where name = $1',
    [currentName(account), newSecret(), nowMs])
  return await webhookSecrets(queries, account, nowMs)
}

async function readSecrets (
  queries: Pick<Queries, 'all'>, account: string, nowMs: number
): Promise<WebhookSecrets | null> {
  const rows = await queries.all<SecretRow>(
    'select name, value, created_at as "createdAt" from secret where name in ($1, $2)',
    [currentName(account), previousName(account)])
  const current = rows.find(({ name }) => name === currentName(account))
  if (current === undefined) return null
  const isPrevious = ({ name, createdAt }: SecretRow) =>
    name === previousName(account) && createdAt + overlapMs > nowMs
  const previous = rows.find(isPrevious)
  return {
    current: current.value,
    previous: previous?.value ?? null,
    previousUntil: previous === undefined ? null : previous.createdAt + overlapMs
  }
}

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
