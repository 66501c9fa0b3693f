import type { Store, Value } from './store.ts'

/** A search by the beginning of a name or id; `after` is the last match of the previous page. */
export interface NameSearch { prefix: string, after: NameMatch | null, limit: number }

/** A found row: its folded name, or its folded id if only that begins with the prefix; and its id. */
export type NameMatch = readonly [text: string, id: string]

/** The rows to search: those of `table` that meet `where`; `name` is the column of their names. */
interface NamedRows { table: string, name: string, where: string }

const lastCharacter = '\u{10FFFF}'

/**
 * Returns a query of `match_text` and `match_id` for at most `limit` rows whose name or id begins with a
 * prefix, ordered by the match. For any number of matches it reads at most `limit` entries of an index on
 * `(folded(name), id)` and of one on `(folded('id'), id)`.
 */
export function nameSearchSql (
  engine: Store['engine'],
  { table, name, where }: NamedRows,
  { prefix, after, limit }: NameSearch,
  params: Value[]
): string {
  const place = (value: Value) => `$${params.push(value)}`
  const [first, end, max] = [place(fold(prefix)), place(fold(prefix) + lastCharacter), place(limit)]
  const start = after?.map(place).join(', ')
  const matches = (column: string) => `
    select ${column} as match_text, id as match_id from ${table} where ${where} and ${column} < ${end}
      and ${start === undefined ? `${column} >= ${first}` : `(${column}, id) > (${start})`}`
  const [byName, byId] = [folded(engine, name), folded(engine, 'id')]
  return `
    select match_text, match_id from (
      select * from (${matches(byName)} order by ${byName}, id limit ${max}) as named
      union all
      select * from (${matches(byId)} and not (${byName} >= ${first} and ${byName} < ${end})
        order by ${byId}, id limit ${max}) as identified
    ) as matched order by match_text, match_id limit ${max}`
}

/** Returns the position of a found row. */
export function nameMatch (prefix: string, name: string, id: string): NameMatch {
  const text = fold(name)
  return [text.startsWith(fold(prefix)) ? text : fold(id), id]
}

/** Returns the condition that a column begins with a prefix, which an index on `folded(column)` serves. */
export function beginsWith (
  engine: Store['engine'], column: string, prefix: string, params: Value[]
): string {
  const [first, end] = [params.push(fold(prefix)), params.push(fold(prefix) + lastCharacter)]
  return `(${folded(engine, column)} >= $${first} and ${folded(engine, column)} < $${end})`
}

/** The SQL of a column with A–Z as a–z, in the order of UTF-8 on each engine. */
function folded (engine: Store['engine'], column: string): string {
  return engine === 'sqlite' ? `lower(${column})` : `lower(${column} collate "C")`
}

function fold (text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}
