import type { Store } from '../../store/store.ts'
import { accountStatements } from './accounts.ts'
import { durableHoldStatements } from './durable-holds.ts'
import { entryStatements } from './entries.ts'
import { nodeStatements } from './nodes.ts'

/** The statements of a commit, in the transaction of the given queries. */
export type Statements = ReturnType<typeof createStatements>

/** Creates the statements for one engine, their texts once, since prepared statements are found by text. */
export function createStatements (engine: Store['engine']) {
  return {
    ...accountStatements(engine),
    ...nodeStatements(engine),
    ...durableHoldStatements(engine),
    ...entryStatements(engine)
  }
}
