import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { scriptedVendors } from '../services/config/scripted.ts'
import type { Terminal } from './terminal.ts'

/** Adds `sandbox`, which serves from memory and calls no provider. */
export function addSandboxCommand (program: Command, terminal: Terminal): void {
  program.command('sandbox')
    .description('start a gateway for tests, in memory, whose providers play a script')
    .requiredOption('--script <file>', 'the responses of the models, as YAML')
    .option('--port <port>', 'port to listen on; 0 for a free one', '0')
    .action(async ({ script, port }: { script: string, port: string }) => await terminal.serve({
      ...scriptedVendors,
      DATABASE_URL: 'sqlite::memory:',
      PORT: port,
      TOLLGATE_DISCOVER: 'off',
      TOLLGATE_MEDIA: join(tmpdir(), 'tollgate-sandbox'),
      TOLLGATE_SCRIPT: script,
      TOLLGATE_WORKERS: '1'
    }))
}
