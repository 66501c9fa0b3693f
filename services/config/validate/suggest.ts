const maxLength = 64

/** Returns ` (did you mean "x"?)` for the candidate closest to a misspelt word, else an empty string. */
export function suggest (word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates)
  return near === null ? '' : ` (did you mean "${near}"?)`
}

/** Returns the candidate closest to a misspelt word; null if none is close. */
export function nearest (word: string, candidates: Iterable<string>): string | null {
  if (word.length > maxLength) return null
  let found: string | null = null
  let least = Math.min(3, Math.floor(word.length / 3) + 1) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= least) continue
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), least)
    if (distance < least) [found, least] = [candidate, distance]
  }
  return found
}

/** Levenshtein distance: how many letters must be inserted, deleted or replaced; at most `limit`. */
function editDistance (from: string, to: string, limit: number): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1]
    for (let column = 0; column < to.length; column++) {
      const replaced = (previous[column] ?? 0) + (letter === to[column] ? 0 : 1)
      const shifted = Math.min(previous[column + 1] ?? 0, current[column] ?? 0) + 1
      current.push(Math.min(replaced, shifted))
    }
    if (Math.min(...current) >= limit) return limit
    previous = current
  }
  return previous[to.length] ?? 0
}
