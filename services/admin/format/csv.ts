import type { Column } from './columns.ts'

/**
 * Writes rows as CSV, one piece per batch, the header with the first of them. Source: RFC 4180. Text that a
 * spreadsheet would run as a formula gets a single quote in front.
 */
export async function * toCsv<Row> (
  columns: readonly Column<Row>[], batches: AsyncIterable<readonly Row[]>
): AsyncGenerator<string, void, undefined> {
  let header = toLine(columns.map(({ name }) => name))
  for await (const rows of batches) {
    const piece = header + rows.map((row) => toLine(columns.map((column) => cellOf(column, row)))).join('')
    header = ''
    if (piece !== '') yield piece
  }
  if (header !== '') yield header
}

function cellOf<Row> ({ numeric = false, cell }: Column<Row>, row: Row): string {
  const text = cell(row)
  return numeric ? text : withoutFormula(text)
}

/** A tab or line break in front of a formula is skipped by spreadsheets, so it counts as one. */
function withoutFormula (text: string): string {
  return /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
}

function toLine (cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`
}

function quoted (text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
