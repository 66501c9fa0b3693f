import type { Command } from 'commander'
import type { AdminProvider } from '../schemas/admin/providers.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { listProviders } from '../services/operations/admin/providers.ts'
import { loadConfig } from '../services/config/load.ts'
import { readSettings } from '../services/config/settings/settings.ts'
import { withJson } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `providers`. */
export function addProvidersCommand (program: Command, session: Session, env: NodeJS.ProcessEnv): void {
  withJson(program.command('providers'))
    .description('list the providers and their calls in the last hour; only a running gateway shows circuit breakers')
    .action(async (options: JsonOption) => await session.list(options, columns, async ({ store }) => {
      const config = await loadConfig({ path: readSettings(env).configPath, env })
      return await listProviders({ store, config, deployments: null })
    }))
}

const columns: Column<AdminProvider>[] = [
  { name: 'id', cell: ({ id }) => id },
  { name: 'protocol', cell: ({ protocol }) => protocol },
  { name: 'models', numeric: true, cell: ({ models }) => String(models) },
  { name: 'calls', numeric: true, cell: ({ calls }) => String(calls) },
  { name: 'failed', numeric: true, cell: ({ failed_calls: failed }) => String(failed) },
  { name: 'p50_ms', numeric: true, cell: ({ p50_ms: ms }) => ms === null ? '' : String(ms) },
  { name: 'p95_ms', numeric: true, cell: ({ p95_ms: ms }) => ms === null ? '' : String(ms) },
  { name: 'last_failure', cell: ({ last_failure: last }) => last === null ? '' : `${last.at} ${last.kind}: ${last.words ?? ''}` }
]
