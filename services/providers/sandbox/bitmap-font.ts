/** A 5 × 7 font that is the same on every machine: a character, then seven rows in base 32. */
const glyphs: Readonly<Record<string, string>> = Object.fromEntries(`
  Aehhvhhh Buhhuhhu Cehggghe Duhhhhhu Evgguggv Fvgguggg Gehgnhhe Hhhhvhhh Ie44444e J72222ic Khikokih
  Lggggggv Mhrllhhh Nhhpljhh Oehhhhhe Puhhuggg Qehhhlid Ruhhukih Sfgge11u Tv444444 Uhhhhhhe Vhhhhha4
  Whhhllla Xhha4ahh Yhhha444 Zv1248gv 0ehjlphe 14c4444e 2eh1248v 3v2421he 426aiv22 5vgu11he 668guhhe
  7v124888 8ehhehhe 9ehhf12c .00000cc ,0000c48 !4444404 ?eh12404 -000e000 :0cc0cc0 '4480000
`.trim().split(/\s+/).map(glyph => [glyph.charAt(0), glyph.slice(1)]))

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
