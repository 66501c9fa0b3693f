import { amountText } from '../amounts.ts'

export interface Column<Row> {
  /** The name of the field, e.g. `cost_usd`. */
  name: string
  /** Aligned to the right, and never treated as a formula. */
  numeric?: boolean
  cell (row: Row): string
}

type With<Name extends string> = Readonly<Record<Name, unknown>>

/** Columns of fields as they are; null is empty. */
export function fields<Name extends string> (...names: Name[]): Column<With<Name>>[] {
  return names.map(name => ({ name, cell: row => String(row[name] ?? '') }))
}

/** Columns of numbers as they are; null is empty. */
export function numbers<Name extends string> (...names: Name[]): Column<With<Name>>[] {
  return fields(...names).map(column => ({ ...column, numeric: true }))
}

/** Columns of amounts in US dollars; null is empty. `ending` is that of the names of the columns. */
export function amounts<Name extends string> (
  names: readonly Name[], ending: '' | '_usd' = ''
): Column<Readonly<Record<`${Name}_nano`, number | null>>>[] {
  return names.map(name => ({
    name: `${name}${ending}`,
    numeric: true,
    cell: row => {
      const nano = row[`${name}_nano`]
      return nano === null ? '' : amountText(nano)
    }
  }))
}
