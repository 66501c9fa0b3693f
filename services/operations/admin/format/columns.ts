export interface Column<Row> {
  /** The name of the field, e.g. `cost_usd`. */
  name: string
  /** Aligned to the right, and never treated as a formula. */
  numeric?: boolean
  cell: (row: Row) => string
}
