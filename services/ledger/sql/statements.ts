import type { Store } from '../../store/store.ts'
import { accountStatements } from './accounts.ts'
import { durableHoldStatements } from './durable-holds.ts'
import { entryStatements } from './entries.ts'
import { nodeStatements } from './nodes.ts'

/**
 * The statements of a commit; each takes the queries of its transaction. Those that write rows accept none.
 */
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
