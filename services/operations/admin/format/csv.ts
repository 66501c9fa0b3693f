import { csvField } from '../../../shared/csv-field.ts'
import type { Column } from './columns.ts'

/**
 * Formats rows as CSV, one chunk per batch, with the header in the first; `csvField` formats the fields.
 */
export async function * toCsv<Row> (
  columns: readonly Column<Row>[], batches: AsyncIterable<readonly Row[]>
): AsyncGenerator<string, void, undefined> {
  let header = toLine(columns.map(({ name }) => csvField(name)))
  for await (const rows of batches) {
    const lines = rows.map(row => toLine(columns.map(({ cell, numeric }) => csvField(cell(row), numeric))))
    const piece = header + lines.join('')
    header = ''
    if (piece !== '') yield piece
  }
  if (header !== '') yield header
}

const toLine = (fields: readonly string[]): string => `${fields.join(',')}\r\n`
