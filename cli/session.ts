import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { readSettings } from '../services/config/settings/settings.ts'
import { createKeys } from '../services/keys/keys.ts'
import { createAccounts } from '../services/ledger/accounts.ts'
import { createAdministration } from '../services/admin/administration.ts'
import type { Administration } from '../services/admin/administration.ts'
import type { Page } from '../services/admin/page.ts'
import { openStore } from '../services/store/open.ts'
import type { Column } from '../services/admin/format/columns.ts'
import { toTable } from '../services/admin/format/table.ts'
import { exitCodes } from './terminal.ts'
import type { Outcome, Terminal } from './terminal.ts'

/** What a command does its work with. */
export interface Session {
  /** Runs `work` on the database of the environment, and closes that afterwards. */
  administer<T> (work: (administration: Administration) => Promise<T>): Promise<T>
  /** Prints a result: as JSON when it was asked for, else as the text for people. */
  print (options: JsonOption, result: unknown, text: () => string): void
  /** Prints a page of a list; where it goes on is said on standard error. */
  printPage<Item> (options: JsonOption, page: Page<Item>, columns: readonly Column<Item>[]): void
  /** Writes a long text as fast as it is read. */
  stream (pieces: AsyncIterable<string>): Promise<void>
  /** Lets the process end as refused, although nothing has failed. */
  refuse (): void
}

export interface JsonOption { json?: boolean }

/** Creates the means of commands in a terminal. */
export function createSession (terminal: Terminal, outcome: Outcome): Session {
  const { stdout, stderr } = terminal
  const say = (message: string) => { stderr.write(`tollgate: ${message}\n`) }
  const print: Session['print'] = ({ json = false }, result, text) => {
    stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : text())
  }

  return {
    print,

    async administer (work) {
      const { databaseUrl } = readSettings(terminal.env)
      const path = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
      const isNew = path !== undefined && !existsSync(path)
      const log = { info: () => {}, warn: (_details: object, message: string) => say(message) }
      const store = await openStore(databaseUrl, { log })
      // Else whoever is in the wrong folder would look at an empty list and not know why.
      if (isNew) say(`there was no database at ${path}, so there is a new one now`)
      try {
        const keys = createKeys(store)
        return await work(createAdministration({ store, keys, accounts: createAccounts(store) }))
      } finally {
        await store.close()
      }
    },

    printPage (options, page, columns) {
      print(options, page, () => toTable(columns, page.data))
      if (page.next !== null && options.json !== true) say(`there is more: --after ${page.next}`)
    },

    async stream (pieces) {
      for await (const piece of pieces) {
        if (!stdout.write(piece)) await once(stdout, 'drain')
      }
    },

    refuse () {
      outcome.exitCode = exitCodes.refused
    }
  }
}
