import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { readSettings } from '../services/config/settings/settings.ts'
import { createKeys } from '../services/keys/keys.ts'
import { createAccounts } from '../services/ledger/accounts.ts'
import { createAdministration, type Administration } from '../services/admin/administration.ts'
import type { Page } from '../services/admin/page.ts'
import { processWarnings } from '../services/shared/log.ts'
import { openStore } from '../services/store/open.ts'
import type { Column } from '../services/admin/format/columns.ts'
import { toTable } from '../services/admin/format/table.ts'
import { exitCodes, type Outcome, type Terminal } from './terminal.ts'

/** What commands work with. */
export interface Session {
  /** Opens the database of the environment, runs `work`, and closes it. */
  administer<T> (work: (administration: Administration) => Promise<T>): Promise<T>
  /** Prints a result as JSON with `--json`, else as text. */
  print (options: JsonOption, result: unknown, text: () => string): void
  /** Prints a page of a list, and on standard error how to get the next one. */
  printPage<Item> (options: JsonOption, page: Page<Item>, columns: readonly Column<Item>[]): void
  /** Writes a long text with backpressure. */
  stream (pieces: AsyncIterable<string>): Promise<void>
  /** Makes the process exit with 1 although the command itself succeeded. */
  fail (): void
}

export interface JsonOption { json?: boolean }

/** Creates the session of one command. */
export function createSession (terminal: Terminal, outcome: Outcome): Session {
  const { stdout, stderr } = terminal
  const warn = (message: string) => { stderr.write(`tollgate: ${message}\n`) }
  const print: Session['print'] = ({ json = false }, result, text) => {
    stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : text())
  }

  return {
    print,

    async administer (work) {
      const { databaseUrl } = readSettings(terminal.env)
      const path = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
      const isNew = path !== undefined && !existsSync(path)
      const log = { ...processWarnings, warn: (_details: object, message: string) => warn(message) }
      const store = await openStore(databaseUrl, { log })
      // Explains the empty list to a user in the wrong folder.
      if (isNew) warn(`created a new database at ${path}; set DATABASE_URL to use another one`)
      try {
        const keys = createKeys(store)
        return await work(createAdministration({ store, keys, accounts: createAccounts(store) }))
      } finally {
        await store.close()
      }
    },

    printPage (options, page, columns) {
      print(options, page, () => toTable(columns, page.data))
      if (page.next !== null && options.json !== true) warn(`there are more items; continue with --after ${page.next}`)
    },

    async stream (pieces) {
      for await (const piece of pieces) {
        if (!stdout.write(piece)) await once(stdout, 'drain')
      }
    },

    fail () {
      outcome.exitCode = exitCodes.failure
    }
  }
}
