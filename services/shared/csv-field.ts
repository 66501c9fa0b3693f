/**
 * A value as a field of CSV (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe in
 * front, also after a tab or line break, which spreadsheets ignore; numbers stay what they are.
 */
export function csvField (value: string | number | null, isNumber = typeof value === 'number'): string {
  const text = String(value ?? '')
  const plain = !isNumber && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
