import type { Command } from 'commander'
import type { AuditEvent } from '../schemas/admin/audit.ts'
import { listAudit, type AuditRequest } from '../services/operations/admin/audit.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { parseTime, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `audit`. */
export function addAuditCommand (program: Command, session: Session): void {
  withPaging(withJson(program.command('audit')))
    .description('list changes by operators, newest first')
    .option('--actor <actor>', 'only changes by this actor: key:<id>, cli:<user>, env or gateway')
    .option('--target <target>', 'only changes of this target, e.g. key:<id> or account:<id>')
    .option('--action <action>', 'only this kind of change, e.g. key.update')
    .option('--from <time>', 'only changes from this time on', parseTime)
    .option('--to <time>', 'only changes before this time', parseTime)
    .action(async (options: JsonOption & AuditRequest) =>
      await session.list(options, columns, administration => listAudit(administration, options)))
}

const columns: Column<AuditEvent>[] = [
  { name: 'at', cell: ({ at }) => at },
  { name: 'actor', cell: ({ actor, actor_label: label }) => label === null || label === '' ? actor : `${actor} (${label})` },
  { name: 'action', cell: ({ action }) => action },
  { name: 'target', cell: ({ target }) => target },
  { name: 'before', cell: ({ before }) => before === null ? '' : JSON.stringify(before) },
  { name: 'after', cell: ({ after }) => JSON.stringify(after) }
]
