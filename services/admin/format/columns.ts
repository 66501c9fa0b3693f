/** A column of a table or CSV file. */
export interface Column<Row> {
  /** The name of the field, e.g. `cost_usd`. */
  name: string
  /** Aligned to the right, and never treated as a formula. */
  numeric?: boolean
  /** The text of a cell. */
  cell: (row: Row) => string
}
