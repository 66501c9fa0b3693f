import { csvField } from './csv-field.ts'
import type { Column } from './table.tsx'

/** Rows as CSV by RFC 4180. */
export function toCsv<Row> (columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const exported = columns.flatMap(({ name, csv }) => csv === undefined ? [] : [{ name, csv }])
  const lines = [exported.map(({ name }) => name), ...rows.map(row => exported.map(({ csv }) => csv(row)))]
  return lines.map(line => `${line.map(csvField).join(',')}\r\n`).join('')
}

/** Nested facts as JSON; amounts in nano-dollars as text, exact. */
export function jsonOf (facts: unknown): string {
  return JSON.stringify(facts, (_name, value) => typeof value === 'bigint' ? String(value) : value)
}

/** Lets the browser save rows as `name`.csv. */
export function saveCsv<Row> (name: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  saveBlob(`${name}.csv`, new Blob([toCsv(columns, rows)], { type: 'text/csv' }))
}

/** Lets the browser save a file. */
export function saveBlob (name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob)
  const anchor = Object.assign(document.createElement('a'), { href: url, download: name })
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
