/**
 * Generates a short text that matches a regular expression, without executing the expression, which may come
 * from an attacker. Open-ended repetitions grow until `leastCharacters` are reached. Supports literals,
 * classes, escapes, groups, alternatives (the first one) and quantifiers; ignores look-around and back
 * references. Returns an empty text for expressions beyond 1,000 characters.
 */
export function samplePattern (pattern: string, leastCharacters = 0): string {
  if (pattern.length > maxPattern) return ''
  const short = readAlternatives({ pattern, at: 0, stretch: 1 })
  const missing = leastCharacters - short.length
  return missing <= 0 ? short : readAlternatives({ pattern, at: 0, stretch: missing + 1 })
}

/** A position in an expression; `stretch` is the count for open-ended repetitions. */
interface Cursor { readonly pattern: string, readonly stretch: number, at: number }

/** A member of a character class: an example, and a test for characters. */
interface Member { text: string, has: (character: string) => boolean }

const maxPattern = 1_000
const maxText = 10_000

function readAlternatives (cursor: Cursor): string {
  const first = readSequence(cursor)
  while (take(cursor, '|')) readSequence(cursor)
  return first
}

function readSequence (cursor: Cursor): string {
  let text = ''
  while (cursor.at < cursor.pattern.length && !'|)'.includes(peek(cursor))) {
    const atom = readAtom(cursor)
    const times = Math.min(readTimes(cursor), Math.floor((maxText - text.length) / Math.max(1, atom.length)))
    text += atom.repeat(times)
  }
  return text
}

function readAtom (cursor: Cursor): string {
  if (take(cursor, '(')) return readGroup(cursor)
  if (take(cursor, '[')) return readClass(cursor)
  if (take(cursor, '\\')) return readEscape(cursor).text
  const character = String.fromCodePoint(cursor.pattern.codePointAt(cursor.at) ?? 0)
  cursor.at += character.length
  if (character === '^' || character === '$') return ''
  return character === '.' ? 'a' : character
}

function readGroup (cursor: Cursor): string {
  const [kind = ''] = match(cursor, /\?(?:<?[=!]|:|<\w+>)/y) ?? []
  const text = readAlternatives(cursor)
  take(cursor, ')')
  return /[=!]$/.test(kind) ? '' : text
}

function readTimes (cursor: Cursor): number {
  const { stretch } = cursor
  const quantifier = match(cursor, /(?:([*+?])|\{(\d{1,9})(,?)(\d{0,9})\})\??/y)
  if (quantifier === null) return 1
  const [, sign, least = '', comma, most] = quantifier
  if (sign === undefined && comma === '') return Number(least)
  if (sign === undefined) return Math.min(most ? Number(most) : Infinity, Math.max(Number(least), stretch))
  return sign === '+' ? stretch : sign === '*' ? stretch - 1 : 0
}

function readClass (cursor: Cursor): string {
  const negated = take(cursor, '^')
  const members: Member[] = []
  while (cursor.at < cursor.pattern.length && !take(cursor, ']')) members.push(readMember(cursor))
  const candidates = negated ? printable : members.map(({ text }) => text)
  return candidates.find(text => members.some(({ has }) => has(text)) !== negated) ?? ''
}

function readMember (cursor: Cursor): Member {
  const from = readCharacter(cursor)
  if (!/^-[^\]]/.test(cursor.pattern.slice(cursor.at, cursor.at + 2))) return from
  cursor.at++
  const to = readCharacter(cursor)
  const [least, most] = [codeOf(from.text), codeOf(to.text)]
  return { text: from.text, has: character => codeOf(character) >= least && codeOf(character) <= most }
}

function readCharacter (cursor: Cursor): Member {
  if (take(cursor, '\\')) return readEscape(cursor)
  const character = String.fromCodePoint(cursor.pattern.codePointAt(cursor.at) ?? 0)
  cursor.at += character.length
  return literal(character)
}

function readEscape (cursor: Cursor): Member {
  const [, digits] = match(cursor, /x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,5})\}/iy)?.filter(Boolean) ?? []
  if (digits !== undefined) return literal(String.fromCodePoint(Number.parseInt(digits, 16)))
  const property = match(cursor, /p\{[\w=]{1,60}\}/iy)
  if (property !== null) return ofKind(propertyPattern(property[0]))
  if (match(cursor, /k<\w+>|[1-9]\d?|[bB]/y) !== null) return literal('')
  const letter = peek(cursor)
  cursor.at++
  if (/[dws]/i.test(letter)) return ofKind(new RegExp(`\\${letter}`))
  return literal(controls[letter] ?? letter)
}

function propertyPattern (property: string): RegExp {
  try {
    return new RegExp(`\\${property}`, 'u')
  } catch {
    // Nothing can match an unknown property.
    return /[a-z]/
  }
}

const controls: Partial<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', 0: '\0' }
const printable = [...'a1A -_.@/:,+~!"#$%&\'()*;<=>?[\\]^`{|}0bBéß中']

const literal = (text: string): Member => ({ text, has: character => character === text })

function ofKind (kind: RegExp): Member {
  const has = (character: string): boolean => kind.test(character)
  return { text: printable.find(has) ?? '', has }
}

const codeOf = (text: string): number => text.codePointAt(0) ?? 0

const peek = ({ pattern, at }: Cursor): string => pattern.charAt(at)

function take (cursor: Cursor, character: string): boolean {
  if (peek(cursor) !== character) return false
  cursor.at++
  return true
}

function match (cursor: Cursor, sticky: RegExp): RegExpExecArray | null {
  sticky.lastIndex = cursor.at
  const found = sticky.exec(cursor.pattern)
  if (found !== null) cursor.at = sticky.lastIndex
  return found
}
