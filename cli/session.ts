import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { readSettings } from '../services/config/settings/settings.ts'
import { createKeys } from '../services/keys/keys.ts'
import { createAccounts } from '../services/billing/ledger/accounts.ts'
import { createAdministration, type Administration } from '../services/operations/admin/administration.ts'
import type { Page } from '../services/operations/admin/page.ts'
import { processWarnings } from '../services/shared/log.ts'
import { migrateDatabase, openStore } from '../services/store/open.ts'
import { createSecretBox } from '../services/store/secret-box.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { toTable } from '../services/operations/admin/format/table.ts'
import { cliActor } from './actor.ts'
import { exitCodes, type Outcome, type Terminal } from './terminal.ts'

export type Session = ReturnType<typeof createSession>
export interface JsonOption { json?: boolean }
type Work<Result> = (administration: Administration) => Promise<Result>

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
      const { databaseUrl, secretKeys } = readSettings(terminal.env)
      const path = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
      const isNew = path !== undefined && !existsSync(path)
      const store = await openStore(databaseUrl, { log, migrations: 'refuse' })
      // Explains the empty list to a user in the wrong folder.
      if (isNew) warn(`created a new database at ${path}; set DATABASE_URL to use another one`)
      try {
        const secretBox = createSecretBox(secretKeys)
        const keys = createKeys(store)
        const accounts = createAccounts(store)
        return await work(createAdministration({ actor: cliActor(), store, secretBox, keys, accounts }))
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

    /** Prints the result of `work`. */
    async show<Result> (options: JsonOption, work: Work<Result>, textOf: (result: Result) => string) {
      const result = await this.administer(work)
      this.print(options, result, () => textOf(result))
    },

    /** Prints the page that `work` reads, and on standard error how to get the next one. */
    async list<Item> (options: JsonOption, columns: readonly Column<Item>[], work: Work<Page<Item>>) {
      const page = await this.administer(work)
      this.print(options, page, () => toTable(columns, page.data))
      if (page.next !== null && options.json !== true) warn(`there are more items; continue with --after ${page.next}`)
    },

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
