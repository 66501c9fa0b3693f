import type { Column } from './columns.ts'

/**
 * Formats rows as CSV (RFC 4180), one piece per batch, with the header in the first. Text that a spreadsheet
 * would run as a formula is prefixed with a single quote.
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

/** Spreadsheets ignore a tab or line break before a formula. */
function withoutFormula (text: string): string {
  return /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
}

function toLine (cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`
}

function quoted (text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
