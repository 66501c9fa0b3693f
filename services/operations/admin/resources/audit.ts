import { AuditEventList, AuditQuery } from '../../../../schemas/admin/audit.ts'
import { listAudit } from '../audit.ts'
import { fields } from '../format/columns.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest, toPeriod } from '../query.ts'

/** The changes by operators. */
export const auditOperations = [
  operation('GET /audit', 'read', {
    summary: 'List changes by operators',
    query: AuditQuery,
    result: AuditEventList,
    run: (administration, { query }) =>
      listAudit(administration, { ...query, ...toPeriod(query), ...toPageRequest(query) }),
    command: {
      name: 'audit',
      description: 'list changes by operators, newest first',
      options: {
        actor: option('--actor <actor>', 'only changes by this actor: key:<id>, cli:<user>, env or gateway'),
        target: option('--target <target>', 'only changes of this target, e.g. key:<id> or account:<id>'),
        action: option('--action <action>', 'only this kind of change, e.g. key.update'),
        from: option('--from <time>', 'only changes from this time on', { as: 'time' }),
        to: option('--to <time>', 'only changes before this time', { as: 'time' })
      },
      columns: () => [
        ...fields('at'),
        { name: 'actor', cell: ({ actor, actor_label: label }) => label === null || label === '' ? actor : `${actor} (${label})` },
        ...fields('action', 'target'),
        { name: 'before', cell: ({ before }) => before === null ? '' : JSON.stringify(before) },
        { name: 'after', cell: ({ after }) => JSON.stringify(after) }
      ]
    }
  })
]
