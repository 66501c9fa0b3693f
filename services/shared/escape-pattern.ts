/** Escapes text for a regular expression. Node.js 22 lacks `RegExp.escape`. */
export function escapePattern (text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll('-', '\\x2d')
}
