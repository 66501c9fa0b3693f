const usageKey = Buffer.from('"usage"')
const space = 0x20
const comma = 0x2c

/** Blanks every `"usage":null` in place when asked to; says whether there is one that is not null. */
export function hasUsage (piece: Buffer, hideNulls: boolean): boolean {
  let found = false
  for (let at = piece.indexOf(usageKey); at !== -1; at = piece.indexOf(usageKey, at + usageKey.length)) {
    const value = piece.toString('latin1', at + usageKey.length, at + usageKey.length + 16)
    const match = /^\s*:\s*null/.exec(value)
    if (match === null) found = true
    else if (hideNulls) blankMember(piece, at, at + usageKey.length + match[0].length)
  }
  return found
}

/** White space instead of a member and the comma beside it: the JSON stays valid and nothing has to move. */
function blankMember (piece: Buffer, start: number, end: number): void {
  let before = start - 1
  while (piece[before] === space) before--
  if (piece[before] === comma) {
    piece.fill(space, before, end)
    return
  }
  let after = end
  while (piece[after] === space) after++
  piece.fill(space, start, piece[after] === comma ? after + 1 : end)
}
