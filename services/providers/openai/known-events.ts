import { endOfString, isAt, PieceScan } from './piece-scan.ts'

/** An event as the bytes around its variable strings. */
interface Shape {
  fixed: readonly Buffer[]
  /** For each string between them whether it is generated text; else it is padding. */
  isText: readonly boolean[]
  /** For each `"usage": null`: the index in `fixed`, and start and end in there. */
  nulls: readonly number[]
  /** What the client sees around the same strings; null: the event as it is. */
  visible: readonly Buffer[] | null
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
  #shapes: Shape[] = []
  #hasEdits = false
  #misses = 0

  /** Adds an event of a piece that was scanned; `visible`: what the client gets of it, null: the event. */
  learn (piece: Buffer, start: number, end: number, found: PieceScan, visible: Buffer | null): void {
    if (++this.#misses > maxMisses) return this.clear()
    const strings = stringsIn(piece, start, end, found.texts)
    if (strings.length === 0) return
    const shape = shapeOf(piece, start, end, strings, found, visible)
    if (shape === null) return
    this.#shapes = [shape, ...this.#shapes.slice(0, maxShapes - 1)]
    this.#hasEdits = this.#shapes.some(({ visible }) => visible !== null)
  }

  /** Forgets all events, because what they need depends on those that came before. */
  clear (): void {
    if (this.#shapes.length > 0) this.#shapes = []
    this.#hasEdits = false
  }

  /**
   * The piece as the client may see it, if all its events are known, and what matters in it as a scan would
   * find it; else null, with `found` in disorder.
   */
  match (piece: Buffer, found: PieceScan): Buffer | null {
    if (this.#shapes.length === 0) return null
    found.reset()
    const parts: Buffer[] = []
    for (let at = 0; at < piece.length;) {
      const end = this.#matchEvent(piece, at, found, parts)
      if (end === -1) return null
      at = end
    }
    this.#misses = 0
    return this.#hasEdits ? Buffer.concat(parts) : piece
  }

  /** The end of the event that begins at `at`; -1: it is not known. */
  #matchEvent (piece: Buffer, at: number, found: PieceScan, parts: Buffer[]): number {
    const texts = found.texts.length
    const nulls = found.nullUsages.length
    for (const shape of this.#shapes) {
      const strings = this.#hasEdits ? [] : null
      const end = endOfMatch(piece, at, shape, found, strings)
      if (end !== -1) {
        if (strings !== null) addVisible(parts, piece, at, end, shape, strings)
        return end
      }
      found.texts.length = texts
      found.nullUsages.length = nulls
    }
    return -1
  }
}

function endOfMatch (
  piece: Buffer, start: number, { fixed, isText, nulls }: Shape, found: PieceScan, strings: number[] | null
): number {
  let at = start
  for (let i = 0; i < fixed.length; i++) {
    const bytes = fixed[i]
    if (bytes === undefined || !hasAt(piece, at, bytes)) return -1
    for (let n = 0; n < nulls.length; n += 3) {
      if (nulls[n] === i) found.nullUsages.push(at + (nulls[n + 1] ?? 0), at + (nulls[n + 2] ?? 0))
    }
    at += bytes.length
    if (i === isText.length) break
    const end = endOfString(piece, at)
    if (isText[i] === true) found.texts.push(at, end)
    strings?.push(at, end)
    at = end
  }
  return at
}

/** The same as `isAt`; a native comparison costs less from some length on. */
function hasAt (piece: Buffer, at: number, bytes: Buffer): boolean {
  return bytes.length < 24 ? isAt(piece, at, bytes) : piece.subarray(at, at + bytes.length).equals(bytes)
}

function addVisible (
  parts: Buffer[], piece: Buffer, start: number, end: number, { visible }: Shape, strings: readonly number[]
): void {
  if (visible === null) {
    parts.push(piece.subarray(start, end))
    return
  }
  visible.forEach((bytes, i) => {
    parts.push(bytes)
    if (i * 2 < strings.length) parts.push(piece.subarray(strings[i * 2], strings[i * 2 + 1]))
  })
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
  piece: Buffer, start: number, end: number, strings: readonly VariableString[], found: PieceScan,
  visible: Buffer | null
): Shape | null {
  const seen = visible === null ? null : visibleAround(visible, piece, strings)
  if (visible !== null && seen === null) return null
  const starts = [start, ...strings.map(([, to]) => to)]
  const ends = [...strings.map(([from]) => from), end]
  const nulls: number[] = []
  for (let n = 0; n + 1 < found.nullUsages.length; n += 2) {
    const [from = 0, to = 0] = [found.nullUsages[n], found.nullUsages[n + 1]]
    const i = starts.findIndex((begin, i) => from >= begin && to <= (ends[i] ?? 0))
    if (i !== -1) nulls.push(i, from - (starts[i] ?? 0), to - (starts[i] ?? 0))
  }
  // Copies, because the piece belongs to the connection and is edited in place.
  const fixed = starts.map((from, i) => Buffer.from(piece.subarray(from, ends[i])))
  return { fixed, isText: strings.map(([, , isText]) => isText), nulls, visible: seen }
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
