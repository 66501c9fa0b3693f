/** A value as a field of CSV. Text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function csvField (value: string | number | null): string {
  const isFormula = typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) && !/^-\d+(\.\d+)?$/.test(value)
  const text = `${isFormula ? '\'' : ''}${value ?? ''}`
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
