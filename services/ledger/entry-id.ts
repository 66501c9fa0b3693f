/**
 * The id by which an entry is known, as SQL. Usage whose settlement was numbered has none of its own: it is
 * known by its place in the books. No hold has an id of digits alone.
 */
export function entryId (table = 'entry'): string {
  return `coalesce(${table}.id, '${usagePrefix}' || ${table}.seq)`
}

/** Finds the entry that is known by an id. As SQL, with what it is to be given as `$1` and `$2`. */
export function entryKnownAs (id: string): { isEntry: string, place: [id: string, seq: number] } {
  const [, seq = 0] = /^usage:([1-9]\d{0,14})$/.exec(id) ?? []
  return { isEntry: '(entry.id = $1 or (entry.seq = $2 and entry.id is null))', place: [id, Number(seq)] }
}

const usagePrefix = 'usage:'
