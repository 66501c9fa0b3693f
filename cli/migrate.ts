import type { Command } from 'commander'
import { withJson } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `migrate`. */
export function addMigrateCommand (program: Command, session: Session): void {
  withJson(program.command('migrate'))
    .description('update the database to this version, as the gateway does when it starts')
    .action(async (options: JsonOption) => {
      const migrated = await session.migrate()
      session.print(options, { object: 'migrations', applied: migrated }, () => textOf(migrated))
    })
}

function textOf (migrated: readonly string[]): string {
  return migrated.length === 0 ? 'The database is up to date.\n' : `Applied ${migrated.join(', ')}.\n`
}
