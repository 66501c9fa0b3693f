import { endOfString, isAt, PieceScan } from './piece-scan.ts'

/** An event as the bytes around its variable strings. */
interface Shape {
  fixed: readonly Buffer[]
  /** How many of the strings between them are generated text; one more is padding. */
  texts: number
  /** What the client sees around the same strings; the same buffer where that is the same. */
  visible: readonly Buffer[]
  edit: 'none' | 'in place' | 'longer or shorter'
}

/** Providers repeat few forms of events: one for each choice, kind of text and tool call. */
const maxShapes = 8
/** Events in a row that were learned in vain: in such a stream every event has something of its own. */
const maxMisses = 32
const padding = Buffer.from('"obfuscation":"')

/**
 * Recognizes events that differ from an earlier one only inside their generated texts. Such an event needs
 * the same repair as that one, mostly none, and is neither parsed nor searched for anything.
 */
export class KnownEvents {
  /** Start and end, in turn, of the strings of the event found last: its texts are before `textsEnd`. */
  readonly strings: number[] = []
  textsEnd = 0
  /** What the client may see of that event; null: what is in the piece now. */
  visible: Buffer | null = null
  #shapes: Shape[] = []
  #misses = 0

  /** Adds an event of a piece that was scanned; `visible`: what the client gets of it, null: the event. */
  learn (piece: Buffer, start: number, end: number, found: PieceScan, visible: Buffer | null): void {
    if (++this.#misses > maxMisses) return this.clear()
    const strings = stringsIn(piece, start, end, found.texts)
    if (strings.length === 0) return
    const shape = shapeOf(piece, start, end, strings, visible)
    if (shape !== null) this.#shapes = [shape, ...this.#shapes.slice(0, maxShapes - 1)]
  }

  /** Forgets all events, because what they need depends on those that came before. */
  clear (): void {
    if (this.#shapes.length > 0) this.#shapes = []
  }

  /** The end of the event that begins at `start`; -1: it is not known, or not whole. May edit it in place. */
  find (piece: Buffer, start: number): number {
    for (let i = 0; i < this.#shapes.length; i++) {
      const shape = this.#shapes[i]
      const end = shape === undefined ? -1 : this.#endOf(shape, piece, start)
      if (shape === undefined || end === -1) continue
      this.#misses = 0
      this.textsEnd = shape.texts * 2
      this.visible = shape.edit === 'none' ? null : this.#edit(shape, piece, start)
      return end
    }
    return -1
  }

  #endOf ({ fixed }: Shape, piece: Buffer, start: number): number {
    let at = start
    for (let i = 0; i < fixed.length; i++) {
      const bytes = fixed[i]
      if (bytes === undefined || !hasAt(piece, at, bytes)) return -1
      at += bytes.length
      if (i === fixed.length - 1) break
      this.strings[i * 2] = at
      at = endOfString(piece, at)
      this.strings[i * 2 + 1] = at
    }
    return at
  }

  #edit ({ fixed, visible, edit }: Shape, piece: Buffer, start: number): Buffer | null {
    if (edit === 'in place') {
      visible.forEach((bytes, i) => {
        if (bytes !== fixed[i]) bytes.copy(piece, i === 0 ? start : this.strings[i * 2 - 1])
      })
      return null
    }
    return Buffer.concat(visible.flatMap((bytes, i) => {
      if (i === visible.length - 1) return [bytes]
      return [bytes, piece.subarray(this.strings[i * 2], this.strings[i * 2 + 1])]
    }))
  }
}

/** The same as `isAt`; a native comparison costs less from some length on. */
function hasAt (piece: Buffer, at: number, bytes: Buffer): boolean {
  if (bytes.length < 24) return isAt(piece, at, bytes)
  const end = at + bytes.length
  return end <= piece.length && piece.compare(bytes, 0, bytes.length, at, end) === 0
}

/** Start and end of a variable string of an event, and whether it is text. */
type VariableString = [from: number, to: number, isText: boolean]

function stringsIn (
  piece: Buffer, start: number, end: number, texts: readonly number[]
): VariableString[] {
  const strings: VariableString[] = []
  for (let i = 0; i + 1 < texts.length; i += 2) {
    const [from = 0, to = 0] = [texts[i], texts[i + 1]]
    if (from >= start && to < end) strings.push([from, to, true])
  }
  const last = strings.at(-1)?.[1]
  if (last === undefined) return []
  const at = piece.indexOf(padding, last)
  if (at === -1 || at >= end) return strings
  const from = at + padding.length
  return [...strings, [from, endOfString(piece, from), false]]
}

function shapeOf (
  piece: Buffer, start: number, end: number, strings: readonly VariableString[], visible: Buffer | null
): Shape | null {
  const starts = [start, ...strings.map(([, to]) => to)]
  const ends = [...strings.map(([from]) => from), end]
  // Copies, because the piece belongs to the connection and is edited in place.
  const fixed = starts.map((from, i) => Buffer.from(piece.subarray(from, ends[i])))
  const texts = strings.filter(([, , isText]) => isText).length
  const seen = visible === null ? fixed : visibleAround(visible, piece, strings)
  if (seen === null) return null
  const isInPlace = seen.every((bytes, i) => bytes.length === fixed[i]?.length)
  return {
    fixed,
    texts,
    visible: seen.map((bytes, i) => fixed[i]?.equals(bytes) === true ? fixed[i] : bytes),
    edit: seen === fixed ? 'none' : isInPlace ? 'in place' : 'longer or shorter'
  }
}

/** The bytes of an edited event around the same strings; null if it does not have them in the same order. */
function visibleAround (
  visible: Buffer, piece: Buffer, strings: readonly VariableString[]
): Buffer[] | null {
  const scan = new PieceScan()
  scan.scan(visible)
  const theirs = stringsIn(visible, 0, visible.length, scan.texts)
  const isSame = theirs.length === strings.length && theirs.every(([from, to], i) => {
    const [start = 0, end = 0] = strings[i] ?? []
    return visible.subarray(from, to).equals(piece.subarray(start, end))
  })
  if (!isSame) return null
  const starts = [0, ...theirs.map(([, to]) => to)]
  return starts.map((from, i) => Buffer.from(visible.subarray(from, theirs[i]?.[0] ?? visible.length)))
}
