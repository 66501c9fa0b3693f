import { DatabaseError } from 'pg'
import { StoreUnavailable, type StoreProblem } from './store.ts'

// Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
/**
 * Connection lost or refused, resources exhausted, shutdown or statement timeout, system error, timeout of an
 * idle transaction, read-only after a failover, outcome unknown, corrupt data.
 */
const awayCodes = /^(08|53|57|58|25P03|25006|40003|XX00[12])/
/** Caused by values: cardinality, data, constraints, size limits, errors raised by triggers. */
const rejectionCodes = /^(21|22|23|44|54|P0)/
/** Source: OpenSSL's X509_V_ERR codes as Node.js names them. */
const tlsCodes = /CERT|ERR_(TLS|SSL)|UNABLE_TO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE/
const lastingReasons = /unsupported startup parameter|does not support SSL/
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

/**
 * Whether the database cannot be used now: every error except those of values and concurrent transactions, as
 * it may pass, alone or by an operator's action.
 */
export function isUnavailable (error: unknown): boolean {
  if (error instanceof RangeError || error instanceof TypeError) return false
  return !(error instanceof DatabaseError) ||
    !(rejectionCodes.test(error.code ?? '') || conflictOf(error) !== null)
}

/** Whether connecting may succeed later with the same settings, unlike after a wrong certificate. */
export function isTransient (error: unknown): boolean {
  // PgBouncer has one code for everything, and its messages are never localised.
  if (lastingReasons.test(reasonOf(error))) return false
  if (error instanceof DatabaseError) return awayCodes.test(error.code ?? '')
  return !(error instanceof Error && 'code' in error && tlsCodes.test(String(error.code)))
}

/** Whether the server did not respond at all, although it would have ended the statement. */
export function isSilence (error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** The problem behind an error for which `isUnavailable` is true. */
export function postgresProblem (error: unknown): StoreProblem {
  if (!(error instanceof DatabaseError)) return 'unreachable'
  const code = error.code ?? ''
  return problems.get(code) ?? (awayCodes.test(code) ? 'unreachable' : 'refused')
}

/** The conflict with a concurrent transaction behind a failure, or null. */
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
