import { categoriesOf, categoryCount, fnvOffset, fnvPrime } from './vocabulary.ts'

/** Buckets of the hashed n-grams; a power of two. */
export const bucketCount = 1 << 13

/** Counts of one text. The arrays belong to the reader and change with its next text. */
export interface TextCounts {
  /** Distinct n-gram buckets, in the order of their first appearance; `size` of them count. */
  readonly buckets: Int32Array
  /** Number of hits by bucket. */
  readonly counts: Uint16Array
  size: number
  /** Characters by kind; see `charKinds`. */
  readonly kinds: Int32Array
  /** Words by category of the lexicon. */
  readonly categories: Int32Array
  chars: number
  words: number
  numbers: number
  lines: number
  /** Lines that begin like an option of a multiple-choice question: `A.`, `(b)`, `1)`. */
  options: number
  /** Lines that begin with two spaces or a tab. */
  indented: number
  fences: number
  sentences: number
}

/** Kinds of characters, by index into `Reading.kinds`. */
export const charKinds = [
  'space', 'lower', 'upper', 'digit', 'other', 'newline', 'math', 'bracket', 'curly', 'dollar', 'backslash', 'quote',
  'comma', 'stop', 'question', 'colon', 'semicolon', 'underscore', 'backtick', 'foreign'
] as const
type CharKind = typeof charKinds[number]

const kind = Object.fromEntries(charKinds.map((name, index) => [name, index])) as Record<CharKind, number>
const kindOf = new Uint8Array(128).fill(kind.other)
assign('lower', 'abcdefghijklmnopqrstuvwxyz')
assign('upper', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')
assign('digit', '0123456789')
assign('space', ' \t\r')
assign('newline', '\n')
assign('math', '+-*/=<>^%|~')
assign('bracket', '()[]')
assign('curly', '{}')
assign('dollar', '$')
assign('backslash', '\\')
assign('quote', '"\'')
assign('comma', ',')
assign('stop', '.!')
assign('question', '?')
assign('colon', ':')
assign('semicolon', ';')
assign('underscore', '_')
assign('backtick', '`')

const isPartOfWord = new Uint8Array(charKinds.length)
for (const name of ['lower', 'upper', 'digit', 'foreign'] as const) isPartOfWord[kind[name]] = 1

function assign (name: CharKind, characters: string): void {
  for (const character of characters) kindOf[character.charCodeAt(0)] = kind[name]
}

/** Salts that separate the hashes of word pairs and of word parts from those of words. */
const pairSalt = 0x9e3779b1 | 0
const partSalt = 0x85ebca6b | 0
const spaceCode = 32
const zeroCode = 48
const stopCode = 46
const closingCode = 41

/**
 * Creates a reader that counts words, pairs of words and four-character parts of words in hashed buckets, and
 * the characters, lines and sentences of a text. It allocates nothing while it reads.
 */
export function createTextReader (): { read (text: string): TextCounts } {
  const reading = emptyReading()
  const { buckets, counts, kinds, categories } = reading

  function clear (): void {
    for (let at = 0; at < reading.size; at++) counts[buckets[at] as number] = 0
    kinds.fill(0)
    categories.fill(0)
    reading.size = reading.words = reading.numbers = reading.lines = reading.options = 0
    reading.indented = reading.fences = reading.sentences = 0
  }

  function hit (hash: number, size: number): number {
    const bucket = (hash ^ hash >>> 13) & bucketCount - 1
    const before = counts[bucket] as number
    counts[bucket] = before + 1
    if (before > 0) return size
    buckets[size] = bucket
    return size + 1
  }

  function categorise (hash: number): void {
    let found = categoriesOf(hash)
    while (found !== 0) {
      const category = 31 - Math.clz32(found)
      categories[category] = (categories[category] as number) + 1
      found ^= 1 << category
    }
  }

  function read (text: string): TextCounts {
    clear()
    let [size, words, numbers, lines, options, indented, fences, sentences] = [0, 0, 0, 0, 0, 0, 0, 0]
    let hash = fnvOffset
    let length = 0
    let part = 0
    let previous = 0
    let inLine = 0
    let wasDigit = false
    // A virtual space after the text ends the last word.
    for (let at = 0; at <= text.length; at++) {
      const code = at < text.length ? text.charCodeAt(at) : spaceCode
      const found = code < 128 ? kindOf[code] as number : kind.foreign
      kinds[found] = (kinds[found] as number) + 1
      if (isPartOfWord[found] === 1) {
        const isDigit = found === kind.digit
        if (isDigit && !wasDigit) numbers++
        wasDigit = isDigit
        // All digits hash alike, and so do upper and lower case.
        const folded = isDigit ? zeroCode : found === kind.upper ? code | 32 : code
        hash = Math.imul(hash ^ folded, fnvPrime)
        part = part << 8 | folded & 255
        if (++length >= 4) size = hit(Math.imul(part, partSalt), size)
        inLine++
        continue
      }
      wasDigit = false
      if (length > 0) {
        if (length === 1 && inLine <= 2 && (code === stopCode || code === closingCode)) options++
        words++
        size = hit(hash, size)
        size = hit(Math.imul(hash, pairSalt) ^ previous, size)
        categorise(hash)
        previous = hash
        hash = fnvOffset
        length = part = 0
      }
      if (found === kind.newline) {
        lines++
        inLine = 0
        continue
      }
      if (found === kind.space) {
        if (inLine === 0 && text.charCodeAt(at + 1) === spaceCode) indented++
      } else {
        if (found === kind.backtick && text.startsWith('```', at)) fences++
        if (found === kind.stop || found === kind.question) sentences++
        // Punctuation and operators count as words.
        previous = Math.imul(previous ^ code, fnvPrime)
        size = hit(previous, size)
      }
      inLine++
    }
    kinds[kind.space] = (kinds[kind.space] as number) - 1
    return Object.assign(reading, {
      chars: text.length, size, words, numbers, lines, options, indented, fences, sentences
    })
  }

  return { read }
}

function emptyReading (): TextCounts {
  return {
    buckets: new Int32Array(bucketCount),
    counts: new Uint16Array(bucketCount),
    size: 0,
    kinds: new Int32Array(charKinds.length),
    categories: new Int32Array(categoryCount),
    chars: 0,
    words: 0,
    numbers: 0,
    lines: 0,
    options: 0,
    indented: 0,
    fences: 0,
    sentences: 0
  }
}
