const space = 0x20
const comma = 0x2c

/**
 * White space instead of a member of an object and the comma beside it, in place: the JSON stays valid and
 * nothing has to move. `end` is exclusive.
 */
export function blankMember (piece: Buffer, start: number, end: number): void {
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
