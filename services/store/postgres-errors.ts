import { DatabaseError } from 'pg'
import { StoreUnavailable } from './store.ts'

// Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
/**
 * Connection lost or refused, resources exhausted, operator's intervention (shutdown, time of a statement
 * over), system error, time of a lock or of an idle transaction over, read-only because another server has
 * taken over, end of a statement unknown, corrupt data.
 */
const faultsOfDatabase = /^(08|53|57|58|55P03|25P03|25006|40003|XX00[12])/
/** Serialization failure and deadlock: the same transaction may succeed when it is run again. */
const conflicts = new Set(['40001', '40P01'])
const unknownStatement = '26000'
const featureNotSupported = '0A000'

/** Whether the database could not be asked, which includes every fault of the connection. */
export function isFaultOfDatabase (error: unknown): boolean {
  if (error instanceof DatabaseError) return faultsOfDatabase.test(error.code ?? '')
  // What else the client library throws is about the connection, but for values of the wrong kind.
  return !(error instanceof RangeError || error instanceof TypeError)
}

/** Whether a statement or transaction was rolled back only because of what happened beside it. */
export function isWorthRepeating (error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StoreUnavailable) return false
    if (cause instanceof DatabaseError) return conflicts.has(cause.code ?? '') || isStaleStatement(cause)
  }
  return false
}

/**
 * Whether a prepared statement was refused because the server has forgotten it, or because a migration has
 * changed the columns that it returns. The message is in the server's language, the routine is not.
 */
export function isStaleStatement (error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  return error.code === unknownStatement ||
    (error.code === featureNotSupported && error.routine === 'RevalidateCachedQuery')
}

/** Tells in one line, without a password, why a connection was not made. */
export function reasonOf (error: unknown): string {
  // One error for each address that the host name has, under an empty message.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}
