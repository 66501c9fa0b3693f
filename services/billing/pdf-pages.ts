/** Whether a file is a PDF, by its first bytes. */
export function isPdf (file: Buffer): boolean {
  return file.subarray(0, 5).toString('latin1') === '%PDF-'
}

/**
 * Counts the pages of a PDF. `isWhole` is false if it may have more: newer PDFs compress the objects that are
 * their pages.
 */
export function pdfPages (pdf: Buffer): { pages: number, isWhole: boolean } {
  let pages = 0
  for (let at = pdf.indexOf(pageName); at !== -1; at = pdf.indexOf(pageName, at + pageName.length)) {
    // `/Pages` are the nodes of their tree.
    if (!isWordCharacter(pdf[at + pageName.length] ?? 0)) pages++
  }
  return { pages, isWhole: pages > 0 && !pdf.includes('/ObjStm') }
}

const pageName = '/Page'

function isWordCharacter (byte: number): boolean {
  return /\w/.test(String.fromCharCode(byte))
}
