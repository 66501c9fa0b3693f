import type { AdminHold } from '../../../schemas/admin/holds.ts'
import { isoTime, isoTimeOrNull } from '../../shared/iso-time.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { readPage, type Page, type PageRequest } from './page.ts'

export interface HoldRequest extends PageRequest { account: string }

interface HoldRow {
  id: string
  account: string
  kind: string
  owner: string
  amountNano: number
  createdAt: number
  expiresAt: number | null
  seenAt: number | null
  job: string | null
  key: string | null
  model: string | null
}

/**
 * Lists the holds of an account, newest first: one per job, and one per node for its running requests. Throws
 * GatewayError 400 for a wrong page, 404, StoreUnavailable.
 */
export async function listHolds (
  administration: Administration, { account, ...page }: HoldRequest
): Promise<Page<AdminHold>> {
  const { store, flush } = administration
  await getAccount(administration, account)
  await flush()
  return await readPage(page, {
    example: [0, ''],
    async read (after, limit) {
      const [at, id] = after ?? [Number.MAX_SAFE_INTEGER, '']
      return await store.reports.all<HoldRow>(select, [account, at, id, limit])
    },
    toItem: toHold,
    cursorOf: ({ createdAt, id }) => [createdAt, id]
  })
}

/** Without a node's spare allowance, which is not held. */
const select = `
  select hold.id, hold.account, hold.kind, hold.owner, hold.amount - hold.spare as "amountNano",
    hold.created_at as "createdAt", hold.expires_at as "expiresAt", node.heartbeat_at as "seenAt",
    job.id as job, job.api_key as "key", job.model
  from hold left join node on node.id = hold.owner left join job on hold.kind = 'job' and job.id = hold.id
  where hold.account = $1 and hold.state = 0 and hold.amount > hold.spare and (hold.created_at, hold.id) < ($2, $3)
  order by hold.created_at desc, hold.id desc limit $4`

function toHold (row: HoldRow): AdminHold {
  const { id, account, kind, owner, amountNano, createdAt, expiresAt, seenAt, job, key, model } = row
  return {
    object: 'hold',
    id,
    account,
    kind: kind === 'job' ? 'job' : 'requests',
    ...amountFields('amount', amountNano),
    created_at: isoTime(createdAt),
    expires_at: isoTimeOrNull(expiresAt),
    node: owner,
    node_seen_at: isoTimeOrNull(seenAt),
    job,
    key,
    model
  }
}
