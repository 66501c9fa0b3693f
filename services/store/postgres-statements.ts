import { hash } from 'node:crypto'

/** The names under which statements stay prepared on every connection. */
export interface StatementNames {
  /** Undefined for a text beyond the first `max`: it is parsed each time. */
  nameOf (sql: string): string | undefined
  /** Gives a text another name, when `name` is still its name: connections prepare it anew. */
  replace (sql: string, name: string): void
}

/**
 * Creates the names of at most `max` texts. A connection keeps what it has prepared for as long as it lasts,
 * so no name is ever taken back. Names are made of the text, since a pooler in between may share them among
 * processes.
 */
export function createStatementNames (max: number): StatementNames {
  const names = new Map<string, { name: string, version: number }>()

  function give (sql: string, version: number): string {
    const name = `${hash('sha256', sql).slice(0, 32)}_${version}`
    names.set(sql, { name, version })
    return name
  }

  return {
    nameOf (sql) {
      const known = names.get(sql)
      if (known !== undefined) return known.name
      return names.size < max ? give(sql, 1) : undefined
    },

    replace (sql, name) {
      const known = names.get(sql)
      if (known?.name === name) give(sql, known.version + 1)
    }
  }
}
