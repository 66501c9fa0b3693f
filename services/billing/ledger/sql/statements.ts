import type { Store } from '../../../store/store.ts'
import { commonStatements, type CommonStatements } from './common.ts'
import { postgresStatements } from './postgres.ts'
import type { EngineStatements } from './rows.ts'
import { sqliteStatements } from './sqlite.ts'

/** The statements of the ledger, in the transaction of the given queries. */
export type Statements = CommonStatements & EngineStatements

/** Creates the statements for one engine, their texts once, since prepared statements are found by text. */
export function createStatements (engine: Store['engine']): Statements {
  const common = commonStatements(engine)
  return { ...common, ...engine === 'sqlite' ? sqliteStatements(common) : postgresStatements() }
}
