import { randomBytes } from 'node:crypto'
import type { SecretBox } from '../../store/secret-box.ts'
import type { Queries } from '../../store/store.ts'

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
  queries: Queries, box: SecretBox, account: string, nowMs: number
): Promise<WebhookSecrets> {
  const found = await readSecrets(queries, box, account, nowMs)
  if (found !== null) return found
  await queries.run('insert into secret (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing',
    [currentName(account), newSecret(box, account), nowMs])
  const made = await readSecrets(queries, box, account, nowMs)
  if (made === null) throw new Error('The webhook secret was deleted concurrently.')
  return made
}

/**
 * Gives an account a new secret; the old one signs too for 24 hours, and the one before it no more. Within a
 * transaction. Throws StoreUnavailable.
 */
export async function rotateWebhookSecret (
  queries: Queries, box: SecretBox, account: string, nowMs: number
): Promise<WebhookSecrets> {
  await webhookSecrets(queries, box, account, nowMs)
  // Rotations wait for each other at this row.
  await queries.run('update secret set value = value where name = $1', [currentName(account)])
  const { current } = await webhookSecrets(queries, box, account, nowMs)
  await queries.run(`
    insert into secret (name, value, created_at) values ($1, $2, $3)
    on conflict (name) do update set value = excluded.value, created_at = excluded.created_at`,
  [previousName(account), box.seal(previousName(account), current), nowMs])
  await queries.run('update secret set value = $2, created_at = $3 where name = $1',
    [currentName(account), newSecret(box, account), nowMs])
  return await webhookSecrets(queries, box, account, nowMs)
}

async function readSecrets (
  queries: Pick<Queries, 'all'>, box: SecretBox, account: string, nowMs: number
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
    current: box.open(current.name, current.value),
    previous: previous === undefined ? null : box.open(previous.name, previous.value),
    previousUntil: previous === undefined ? null : previous.createdAt + overlapMs
  }
}

/** Returns what to store as the current secret of an account. */
function newSecret (box: SecretBox, account: string): string {
  return box.seal(currentName(account), `whsec_${randomBytes(32).toString('base64')}`)
}
