/** A 5 × 7 font that is the same on every machine: a character, then seven rows in base 32. */
const glyphs: Readonly<Record<string, string>> = {
  A: 'ehhvhhh',
  B: 'uhhuhhu',
  C: 'ehggghe',
  D: 'uhhhhhu',
  E: 'vgguggv',
  F: 'vgguggg',
  G: 'ehgnhhe',
  H: 'hhhvhhh',
  I: 'e44444e',
  J: '72222ic',
  K: 'hikokih',
  L: 'ggggggv',
  M: 'hrllhhh',
  N: 'hhpljhh',
  O: 'ehhhhhe',
  P: 'uhhuggg',
  Q: 'ehhhlid',
  R: 'uhhukih',
  S: 'fgge11u',
  T: 'v444444',
  U: 'hhhhhhe',
  V: 'hhhhha4',
  W: 'hhhllla',
  X: 'hha4ahh',
  Y: 'hhha444',
  Z: 'v1248gv',
  0: 'ehjlphe',
  1: '4c4444e',
  2: 'eh1248v',
  3: 'v2421he',
  4: '26aiv22',
  5: 'vgu11he',
  6: '68guhhe',
  7: 'v124888',
  8: 'ehhehhe',
  9: 'ehhf12c',
  '.': '00000cc',
  ',': '0000c48',
  '!': '4444404',
  '?': 'eh12404',
  '-': '000e000',
  ':': '0cc0cc0',
  '\'': '4480000'
}

const unknown = 'vhhhhhv'
const advance = 6
const lineHeight = 9

/** Lines of text as an SVG path with its origin at the upper left; a dot is 1 × 1 units. */
export function textPath (lines: readonly string[]): string {
  let path = ''
  lines.forEach((line, row) => {
    [...line].forEach((character, column) => {
      if (character === ' ') return
      [...glyphs[character] ?? unknown].forEach((digit, y) => {
        const bits = parseInt(digit, 32)
        for (let x = 0; x < 5; x++) {
          if ((bits >> (4 - x) & 1) === 1) path += `M${column * advance + x} ${row * lineHeight + y}h1v1h-1z`
        }
      })
    })
  })
  return path
}

/** The size of lines of text, in dots. */
export function textExtent (lines: readonly string[]): { width: number, height: number } {
  const longest = Math.max(...lines.map(line => line.length))
  return { width: longest * advance - 1, height: lines.length * lineHeight - 2 }
}
