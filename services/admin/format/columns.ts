/** A column of rows that are shown to people or written as CSV. */
export interface Column<Row> {
  /** The name of the field, e.g. `cost_usd`. */
  name: string
  /** Numbers stand at the right, and are never taken for a formula. */
  numeric?: boolean
  /** The text of a cell; empty when there is nothing to say. */
  cell: (row: Row) => string
}
