import type { Value } from './store.ts'

/**
 * Joins SQL conditions with `and`, leaving out those without a value, and adds the values to `params`; `?`
 * stands for the value.
 */
export function whereClause (
  conditions: readonly (readonly [string, Value | undefined])[], params: Value[]
): string {
  return conditions.flatMap(([sql, value]) => {
    return value === undefined ? [] : [sql.replaceAll('?', `$${params.push(value)}`)]
  }).join(' and ')
}
