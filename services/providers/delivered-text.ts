const maxKeptBytes = 256 * 1024
const firstBytes = 1024

/** Collects the text of an event stream, for an estimate if the provider reports no usage. */
export class DeliveredText {
  #kept = Buffer.alloc(0)
  #bytes = 0

  /** Adds strings of a piece of JSON: `places` has the start and end of each, in turn. */
  take (piece: Buffer, places: readonly number[]): void {
    for (let i = 0; i + 1 < places.length; i += 2) this.#keep(piece, places[i] ?? 0, places[i + 1] ?? 0)
  }

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
      // Invalid JSON; the raw text is good enough for an estimate.
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
