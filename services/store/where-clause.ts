import type { Value } from './store.ts'

/** Joins SQL conditions that have a value, which replaces `?` and is added to `params`. */
export function whereClause (
  conditions: readonly (readonly [string, Value | undefined])[], params: Value[]
): string {
  return conditions.flatMap(([sql, value]) => {
    return value === undefined ? [] : [sql.replaceAll('?', `$${params.push(value)}`)]
  }).join(' and ')
}
