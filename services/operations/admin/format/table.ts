import { stripVTControlCharacters } from 'node:util'
import type { Column } from './columns.ts'

const gap = '  '

/**
 * Formats rows as a text table with a header and aligned columns. Control characters, which could move the
 * cursor of a terminal, are removed.
 */
export function toTable<Row> (columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const header = columns.map(({ name }) => name.replaceAll('_', ' ').toUpperCase())
  const lines = [header, ...rows.map((row) => columns.map(({ cell }) => printable(cell(row))))]
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => widthOf(cells[index] ?? ''))))
  const toLine = (cells: readonly string[]) => cells.map((text, index) => {
    const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text)))
    return columns[index]?.numeric === true ? padding + text : text + padding
  }).join(gap).trimEnd()
  return lines.map((cells) => `${toLine(cells)}\n`).join('')
}

function printable (text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}/gu, ' ')
}

function widthOf (text: string): number {
  return [...text].length
}
