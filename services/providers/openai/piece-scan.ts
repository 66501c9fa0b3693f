const quote = 0x22
const backslash = 0x5c
const lineFeed = 0x0a
const colon = 0x3a
const space = 0x20
const tab = 0x09

const usageKey = Buffer.from('usage')
const errorKey = Buffer.from('error')
const nullValue = Buffer.from('null')
/** How the value of an image's address begins. */
const imageValue = Buffer.from('"data:image/')
/**
 * Keys whose values are generated. Sources for reasoning: vLLM, OpenRouter, Groq, Together, Ollama and
 * llama.cpp; some send the same text under several of its keys. `text` is also that of legacy completions.
 */
const keys = {
  text: ['content', 'refusal', 'arguments', 'input'],
  reasoning: ['reasoning', 'reasoning_content', 'thinking', 'summary', 'text'],
  speech: ['transcript'],
  image: ['url']
}

interface GeneratedKey { bytes: Buffer, kind: keyof typeof keys }

/** The keys by their length in bytes. */
const keysByLength: GeneratedKey[][] = []
for (const kind of ['text', 'reasoning', 'speech', 'image'] as const) {
  for (const name of keys[kind]) (keysByLength[name.length] ??= []).push({ bytes: Buffer.from(name), kind })
}

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
  /** Bytes of the texts that are transcripts of audio, and generated images. */
  spokenBytes = 0
  images = 0
  /** The key and the index in `texts` of the reasoning found last. */
  #reasoning: GeneratedKey | null = null
  #reasoningAt = 0

  /** Whether the piece has nothing but text. */
  get isPlain (): boolean {
    return !this.hasUsage && !this.hasError && this.spokenBytes === 0 && this.images === 0
  }

  /** Begins another piece. */
  reset (): void {
    this.hasUsage = false
    this.hasError = false
    // A new array is cheaper than emptying one.
    if (this.nullUsages.length > 0) this.nullUsages = []
    if (this.texts.length > 0) this.texts = []
    this.spokenBytes = 0
    this.images = 0
    this.#reasoning = null
  }

  scan (piece: Uint8Array): void {
    this.reset()
    for (let at = 0; at < piece.length; at++) {
      if (piece[at] !== quote) continue
      const start = at + 1
      at = endOfString(piece, start)
      this.#look(piece, start, at)
    }
  }

  #look (piece: Uint8Array, start: number, end: number): void {
    if (end - start === 5) {
      if (isAt(piece, start, usageKey)) return this.#takeUsage(piece, start, end)
      this.hasError ||= isAt(piece, start, errorKey)
    }
    const keys = keysByLength[end - start]
    if (keys === undefined) return
    for (const key of keys) if (isAt(piece, start, key.bytes)) return this.#take(piece, end, key)
  }

  #takeUsage (piece: Uint8Array, start: number, end: number): void {
    const at = valueAfter(piece, end)
    if (at === -1 || !isAt(piece, at, nullValue)) this.hasUsage = true
    else this.nullUsages.push(start - 1, at + nullValue.length)
  }

  #take (piece: Uint8Array, endOfKey: number, key: GeneratedKey): void {
    const start = valueAfter(piece, endOfKey)
    if (start === -1 || piece[start] !== quote) return
    if (key.kind === 'image') {
      if (isAt(piece, start, imageValue)) this.images++
      return
    }
    const end = endOfString(piece, start + 1)
    if (key.kind === 'speech') this.spokenBytes += end - start - 1
    if (key.kind === 'reasoning') {
      if (this.#isRepeated(piece, start + 1, end, key)) return
      this.#reasoning = key
      this.#reasoningAt = this.texts.length
    }
    this.texts.push(start + 1, end)
  }

  /** Whether the reasoning found before, in the same event under another key, is the same text. */
  #isRepeated (piece: Uint8Array, start: number, end: number, key: GeneratedKey): boolean {
    if (this.#reasoning === null || this.#reasoning === key) return false
    const before = this.texts[this.#reasoningAt] ?? 0
    const length = (this.texts[this.#reasoningAt + 1] ?? 0) - before
    if (length !== end - start) return false
    for (let i = 0; i < length; i++) if (piece[before + i] !== piece[start + i]) return false
    return !piece.subarray(before, start).includes(lineFeed)
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
export function endOfString (piece: Uint8Array, start: number): number {
  let at = start
  while (at < piece.length && piece[at] !== quote && piece[at] !== lineFeed) {
    at += piece[at] === backslash ? 2 : 1
  }
  return Math.min(at, piece.length)
}

/** Whether the same bytes are at a place of a piece. */
export function isAt (piece: Uint8Array, start: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) if (piece[start + i] !== key[i]) return false
  return true
}
