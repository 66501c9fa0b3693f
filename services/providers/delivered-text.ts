/** How much of a stream's text is kept for an estimate. */
const maxKeptBytes = 256 * 1024
const firstBytes = 1024

/** Where the text of a chunk stands, the usual one first. */
const textKeys = ['"content":"', '"arguments":"', '"reasoning_content":"', '"text":"'].map(key => Buffer.from(key))
const quote = 0x22
const backslash = 0x5c

/**
 * Collects the text that passes in an event stream, without parsing it, in case the provider tells no usage:
 * a few bytes per token, in one buffer.
 */
export class DeliveredText {
  #kept = Buffer.alloc(0)
  #bytes = 0

  /** Takes a piece of whole events. */
  take (piece: Buffer): void {
    for (const key of textKeys) {
      let found = false
      for (let at = piece.indexOf(key); at !== -1; at = piece.indexOf(key, at + key.length)) {
        found = true
        const start = at + key.length
        this.#keep(piece, start, stringEnd(piece, start))
      }
      if (found) return
    }
  }

  /** Takes a text that did not pass as bytes. */
  takeText (text: string): void {
    const bytes = Buffer.from(JSON.stringify(text))
    this.#keep(bytes, 1, bytes.length - 1)
  }

  get isEmpty (): boolean {
    return this.#bytes === 0
  }

  get text (): string {
    try {
      return String(JSON.parse(`"${this.#kept.toString('utf8', 0, this.#bytes)}"`))
    } catch {
      // A provider may write characters into its JSON that do not belong there; as an estimate they will do.
      return this.#kept.toString('utf8', 0, this.#bytes)
    }
  }

  #keep (piece: Buffer, start: number, end: number): void {
    const bytes = this.#bytes + end - start
    if (bytes > maxKeptBytes) return
    if (bytes > this.#kept.length) {
      const larger = Buffer.allocUnsafe(Math.max(firstBytes, bytes * 2))
      this.#kept.copy(larger, 0, 0, this.#bytes)
      this.#kept = larger
    }
    piece.copy(this.#kept, this.#bytes, start, end)
    this.#bytes = bytes
  }
}

function stringEnd (piece: Buffer, start: number): number {
  for (let at = piece.indexOf(quote, start); at !== -1; at = piece.indexOf(quote, at + 1)) {
    let before = at - 1
    while (piece[before] === backslash) before--
    if ((at - before) % 2 === 1) return at
  }
  return piece.length
}
