import type { Static } from '@sinclair/typebox'
import type { AuditEvent, AuditQuery } from '../../../schemas/admin/audit.ts'
import { isoTime } from '../../shared/iso-time.ts'
import type { Value } from '../../store/store.ts'
import { whereClause } from '../../store/where-clause.ts'
import type { Administration } from './administration.ts'
import { readPage, type Page, type ListRequest } from './page.ts'

export type AuditRequest = ListRequest<Static<typeof AuditQuery>>

/** Lists the changes by operators, newest first. Throws GatewayError 400 for a wrong page. */
export async function listAudit (
  { store }: Pick<Administration, 'store'>, request: AuditRequest = {}
): Promise<Page<AuditEvent>> {
  const { actor, action, target, from, to } = request
  return await readPage(request, {
    example: [0],
    async read (after, limit) {
      const params: Value[] = []
      const where = whereClause([
        ['seq < ?', after?.[0] ?? Number.MAX_SAFE_INTEGER],
        ['actor = ?', actor],
        ['action = ?', action],
        ['target = ?', target],
        ['at >= ?', from],
        ['at < ?', to]
      ], params)
      const rows = `select ${columns} from audit where ${where} order by seq desc limit $${params.push(limit)}`
      return await store.reports.all<AuditRow>(rows, params)
    },
    toItem: toEvent,
    cursorOf: ({ seq }) => [seq]
  })
}

interface AuditRow {
  seq: number
  at: number
  actor: string
  actorLabel: string | null
  action: string
  target: string
  before: string | null
  after: string | null
}

const columns = `
  seq, at, actor, actor_label as "actorLabel", action, target, facts_before as "before", facts_after as "after"`

function toEvent ({ seq, at, actor, actorLabel, action, target, before, after }: AuditRow): AuditEvent {
  return {
    object: 'audit_event',
    id: `audit_${seq}`,
    at: isoTime(at),
    actor,
    actor_label: actorLabel,
    action,
    target,
    before: before === null ? null : JSON.parse(before),
    after: after === null ? null : JSON.parse(after)
  }
}
