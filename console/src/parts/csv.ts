import { csvField } from '../../../services/shared/csv-field.ts'

/** What a column of a table is in a CSV file. */
export interface CsvColumn<Row> {
  name: string
  /** The cell, with every digit; absent: the column is not in CSV. */
  csv? (row: Row): string | number | null
  /** Numbers stand at the right. */
  isNumber?: boolean
}

/** Rows as CSV by RFC 4180. */
export function toCsv<Row> (columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  const exported = columns.flatMap(({ name, csv, isNumber }) =>
    csv === undefined ? [] : [{ name, csv, isNumber }])
  const header = exported.map(({ name }) => csvField(name))
  const lines = rows.map(row => exported.map(({ csv, isNumber }) => csvField(csv(row), isNumber)))
  return [header, ...lines].map(fields => `${fields.join(',')}\r\n`).join('')
}

/** Nested facts as JSON; amounts in nano-dollars as text, exact. */
export function jsonOf (facts: unknown): string {
  return JSON.stringify(facts, (_name, value) => typeof value === 'bigint' ? String(value) : value)
}

/** Lets the browser save rows as `name`.csv. */
export function saveCsv<Row> (name: string, columns: readonly CsvColumn<Row>[], rows: readonly Row[]): void {
  saveBlob(`${name}.csv`, new Blob([toCsv(columns, rows)], { type: 'text/csv' }))
}

/** Lets the browser save a file. */
export function saveBlob (name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob)
  const anchor = Object.assign(document.createElement('a'), { href: url, download: name })
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
