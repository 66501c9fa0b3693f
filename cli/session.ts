import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { readSettings } from '../services/config/settings/settings.ts'
import { createKeys } from '../services/keys/keys.ts'
import { createAccounts } from '../services/billing/ledger/accounts.ts'
import type { HostedAdministration } from '../services/operations/admin/admin-host.ts'
import { createAdministration } from '../services/operations/admin/administration.ts'
import { processWarnings } from '../services/shared/log.ts'
import { migrateDatabase, openStore } from '../services/store/open.ts'
import { createSecretBox } from '../services/store/secret-box.ts'
import { cliActor } from './actor.ts'
import { createCliHost } from './host.ts'
import { exitCodes, type Outcome, type Terminal } from './terminal.ts'

export type Session = ReturnType<typeof createSession>
export interface JsonOption { json?: boolean }
type Work<Result> = (administration: HostedAdministration) => Promise<Result>

/** Creates the session of one command: its database and output. */
export function createSession (terminal: Terminal, outcome: Outcome) {
  const { stdout, stderr } = terminal
  const warn = (message: string) => { stderr.write(`tollgate: ${message}\n`) }
  const log = { ...processWarnings, warn: (_details: object, message: string) => warn(message) }

  return {
    /**
     * Opens the database of the environment, runs `work` and closes it. Throws an Error for an older
     * database, because nodes that use it may be older too.
     */
    async administer<Result> (work: Work<Result>): Promise<Result> {
      const settings = readSettings(terminal.env)
      const { databaseUrl, secretKeys } = settings
      const path = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
      const isNew = path !== undefined && !existsSync(path)
      const store = await openStore(databaseUrl, { log, migrations: 'refuse' })
      // Explains the empty list to a user in the wrong folder.
      if (isNew) warn(`created a new database at ${path}; set DATABASE_URL to use another one`)
      try {
        const secretBox = createSecretBox(secretKeys)
        const keys = createKeys(store)
        const accounts = createAccounts(store)
        const administration = createAdministration({ actor: cliActor(), store, secretBox, keys, accounts })
        const host = createCliHost({ store, secretBox, settings, env: terminal.env })
        return await work({ ...administration, host })
      } finally {
        await store.close()
      }
    },

    /** Migrates the database of the environment, and returns the names of the migrations it lacked. */
    async migrate (): Promise<string[]> {
      return await migrateDatabase(readSettings(terminal.env).databaseUrl, log)
    },

    /** Prints a result as JSON with `--json`, else as text. */
    print ({ json = false }: JsonOption, result: unknown, text: () => string): void {
      stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : text())
    },

    /** Writes a hint to standard error. */
    warn,

    /** Writes a long text with backpressure. */
    async stream (pieces: AsyncIterable<string>): Promise<void> {
      for await (const piece of pieces) {
        if (!stdout.write(piece)) await once(stdout, 'drain')
      }
    },

    /** Makes the process exit with 1 although the command itself succeeded. */
    fail (): void {
      outcome.exitCode = exitCodes.failure
    }
  }
}
