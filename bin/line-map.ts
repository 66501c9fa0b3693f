const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const numberOf = new Map([...digits].map((digit, at) => [digit, at]))
const more = 0b100000

/**
 * The `mappings` of a source map with segments only where a source line begins, which is all that a stack
 * trace needs: Node.js decodes the whole map for the first one. Source columns become 0.
 * Source: ECMA-426, source map format.
 */
export function linesOnly (mappings: string): string {
  let source = 0
  let line = 0
  let keptSource = 0
  let keptLine = 0
  return mappings.split(';').map(segments => {
    let column = 0
    let keptColumn = 0
    let isFirst = true
    const kept: string[] = []
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [toColumn = 0, toSource, toLine = 0] = decode(segment)
      column += toColumn
      if (toSource === undefined) continue
      source += toSource
      line += toLine
      if (!isFirst && source === keptSource && line === keptLine) continue
      const numbers = [column - keptColumn, source - keptSource, line - keptLine, 0]
      kept.push(numbers.map(encode).join(''))
      isFirst = false
      keptColumn = column
      keptSource = source
      keptLine = line
    }
    return kept.join()
  }).join(';')
}

/** The numbers of a segment, each in digits of five bits, lowest first, with its sign in the lowest bit. */
function decode (segment: string): number[] {
  const numbers: number[] = []
  let value = 0
  let shift = 0
  for (const digit of segment) {
    const bits = numberOf.get(digit)
    if (bits === undefined) throw new Error(`'${segment}' is not a segment of a source map`)
    value += (bits & ~more) << shift
    shift += 5
    if ((bits & more) !== 0) continue
    numbers.push(value & 1 ? -(value >> 1) : value >> 1)
    value = shift = 0
  }
  return numbers
}

function encode (number: number): string {
  let rest = number < 0 ? -number << 1 | 1 : number << 1
  let text = ''
  do {
    const bits = rest & (more - 1)
    rest >>= 5
    text += digits[rest > 0 ? bits | more : bits]
  } while (rest > 0)
  return text
}
