const quote = 0x22
const backslash = 0x5c
const lineFeed = 0x0a
const colon = 0x3a
const space = 0x20
const tab = 0x09

const usageKey = Buffer.from('usage')
const errorKey = Buffer.from('error')
const nullValue = Buffer.from('null')
/** Keys whose values are generated text. */
const textKeys = ['content', 'arguments', 'reasoning_content', 'text'].map(key => Buffer.from(key))

/**
 * Finds what matters in a piece of whole events in one pass over its bytes. Nearly all pieces hold nothing
 * but text, so this is cheaper than parsing them or searching for each key.
 */
export class PieceScan {
  /** Whether the piece has a string `usage` that is not the key of a null; `hasError`: any string `error`. */
  hasUsage = false
  hasError = false
  /** Start and end, in turn, of each member `"usage": null`. */
  nullUsages: number[] = []
  /** Start and end, in turn, of each generated string, without its quotes. */
  texts: number[] = []

  scan (piece: Uint8Array): void {
    this.hasUsage = false
    this.hasError = false
    // A new array is cheaper than emptying one.
    if (this.nullUsages.length > 0) this.nullUsages = []
    if (this.texts.length > 0) this.texts = []
    for (let at = 0; at < piece.length; at++) {
      if (piece[at] !== quote) continue
      const start = at + 1
      at = endOfString(piece, start)
      this.#look(piece, start, at)
    }
  }

  #look (piece: Uint8Array, start: number, end: number): void {
    switch (end - start) {
      case 5:
        if (isAt(piece, start, usageKey)) this.#takeUsage(piece, start, end)
        this.hasError ||= isAt(piece, start, errorKey)
        return
      case 4: case 7: case 9: case 17:
        for (const key of textKeys) {
          if (key.length === end - start && isAt(piece, start, key)) this.#takeText(piece, end)
        }
    }
  }

  #takeUsage (piece: Uint8Array, start: number, end: number): void {
    const at = valueAfter(piece, end)
    if (at === -1 || !isAt(piece, at, nullValue)) this.hasUsage = true
    else this.nullUsages.push(start - 1, at + nullValue.length)
  }

  #takeText (piece: Uint8Array, endOfKey: number): void {
    const at = valueAfter(piece, endOfKey)
    if (at !== -1 && piece[at] === quote) this.texts.push(at + 1, endOfString(piece, at + 1))
  }
}

/** The start of the value of a key; -1 if the string was not a key. */
function valueAfter (piece: Uint8Array, endOfKey: number): number {
  const at = afterBlanks(piece, endOfKey + 1)
  return piece[at] === colon ? afterBlanks(piece, at + 1) : -1
}

/** Skips spaces and tabs; an event has no other white space. */
function afterBlanks (piece: Uint8Array, start: number): number {
  let at = start
  while (piece[at] === space || piece[at] === tab) at++
  return at
}

/** The place of the closing quote. A line feed ends a string that lacks one. */
function endOfString (piece: Uint8Array, start: number): number {
  let at = start
  while (at < piece.length && piece[at] !== quote && piece[at] !== lineFeed) {
    at += piece[at] === backslash ? 2 : 1
  }
  return Math.min(at, piece.length)
}

function isAt (piece: Uint8Array, start: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) if (piece[start + i] !== key[i]) return false
  return true
}
