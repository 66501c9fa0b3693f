import { DatabaseError } from 'pg'
import { StoreUnavailable, type StoreProblem } from './store.ts'

// Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
/**
 * Connection lost or refused, resources exhausted, shutdown or statement timeout, system error, timeout of an
 * idle transaction, read-only after a failover, outcome unknown, corrupt data.
 */
const unavailableCodes = /^(08|53|57|58|25P03|25006|40003|XX00[12])/
const lockTimeout = '55P03'
/** Serialization failure and deadlock: the same transaction may succeed when retried. */
const conflicts = new Set(['40001', '40P01'])
const unknownStatement = '26000'
const featureNotSupported = '0A000'

const problems = new Map<string, StoreProblem>([
  ['53100', 'full'], ['25006', 'readOnly'], ['XX001', 'damaged'], ['XX002', 'damaged'],
  // Statements that time out.
  ['57014', 'slow']
])

/** Includes every failure of the connection. */
export function isUnavailable (error: unknown): boolean {
  if (error instanceof DatabaseError) return unavailableCodes.test(error.code ?? '')
  // Else the connection failed, except for values of the wrong kind.
  return !(error instanceof RangeError || error instanceof TypeError)
}

/** Why the database cannot be used, by an error for which `isUnavailable` holds. */
export function postgresProblem (error: unknown): StoreProblem {
  const code = error instanceof DatabaseError ? error.code ?? '' : ''
  return problems.get(code) ?? 'unreachable'
}

/** Why a statement or transaction failed, if only because of concurrent ones; else null. */
export function conflictOf (error: unknown): 'locked' | 'conflict' | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StoreUnavailable) return null
    if (!(cause instanceof DatabaseError)) continue
    if (cause.code === lockTimeout) return 'locked'
    return conflicts.has(cause.code ?? '') || isStaleStatement(cause) ? 'conflict' : null
  }
  return null
}

/** The statement is lost, or its columns have changed. The message is localised, the routine is not. */
export function isStaleStatement (error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  return error.code === unknownStatement ||
    (error.code === featureNotSupported && error.routine === 'RevalidateCachedQuery')
}

/** Returns one line without a password. */
export function reasonOf (error: unknown): string {
  // One error per address of the host name, under an empty message.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}
