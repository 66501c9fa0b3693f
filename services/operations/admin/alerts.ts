import type { Alert } from '../../../schemas/admin/alerts.ts'
import { isoTime, isoTimeOrNull } from '../../shared/iso-time.ts'
import type { Administration } from './administration.ts'
import { readPage, type Page, type PageRequest } from './page.ts'

/** Lists the alerts, newest first. Throws GatewayError 400 for a wrong page. */
export async function listAlerts (
  { store }: Pick<Administration, 'store'>, request: PageRequest = {}
): Promise<Page<Alert>> {
  return await readPage(request, {
    example: [0, ''],
    async read (after, limit) {
      const [at, id] = after ?? [Number.MAX_SAFE_INTEGER, '']
      return await store.reports.all<AlertRow>(`
        select id, created_at as "createdAt", type, body, attempts, next_attempt_at as "nextAttemptAt",
          delivered_at as "deliveredAt", last_error as error
        from alert where (created_at, id) < ($2, $3) order by created_at desc, id desc limit $1`,
      [limit, at, id])
    },
    toItem: toAlert,
    cursorOf: ({ createdAt, id }) => [createdAt, id]
  })
}

interface AlertRow {
  id: string
  createdAt: number
  type: string
  body: string
  attempts: number
  nextAttemptAt: number | null
  deliveredAt: number | null
  error: string | null
}

function toAlert ({ createdAt, body, nextAttemptAt, deliveredAt, ...row }: AlertRow): Alert {
  return {
    object: 'alert',
    ...row,
    created_at: isoTime(createdAt),
    data: JSON.parse(body).data,
    state: deliveredAt !== null ? 'delivered' : nextAttemptAt !== null ? 'waiting' : 'given_up',
    next_attempt_at: isoTimeOrNull(nextAttemptAt),
    delivered_at: isoTimeOrNull(deliveredAt)
  }
}
