const maxLength = 64

/** Returns ` (did you mean "x"?)` for the candidate closest to a misspelt word, else an empty string. */
export function suggest (word: string, candidates: Iterable<string>): string {
  if (word.length > maxLength) return ''
  let nearest = ''
  let least = Math.min(3, Math.floor(word.length / 3) + 1) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= least) continue
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < least) [nearest, least] = [candidate, distance]
  }
  return nearest === '' ? '' : ` (did you mean "${nearest}"?)`
}

/** Levenshtein distance: how many letters must be inserted, deleted or replaced. */
function editDistance (from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1]
    for (let column = 0; column < to.length; column++) {
      const replaced = (previous[column] ?? 0) + (letter === to[column] ? 0 : 1)
      const shifted = Math.min(previous[column + 1] ?? 0, current[column] ?? 0) + 1
      current.push(Math.min(replaced, shifted))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}
