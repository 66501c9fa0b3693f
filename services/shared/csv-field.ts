/**
 * A value as a CSV field (RFC 4180). Text that a spreadsheet would run as a formula is prefixed by an
 * apostrophe, also after a leading tab or line break, which spreadsheets ignore; numbers are unchanged.
 */
export function csvField (value: string | number | null, isNumber = typeof value === 'number'): string {
  const text = String(value ?? '')
  const plain = !isNumber && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
