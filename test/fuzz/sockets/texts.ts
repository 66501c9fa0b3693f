import type { Random } from '../../services/billing/ledger/random.ts'

/** What texts are made of: each is odd in its own way, once or repeated. */
const pieces = [
  ' ', '\n', '\t', 'a', 'Z9', 'word ', 'some words. ', '天地', 'ع', '😀', '👩‍👩‍👧', '\ud83d', '\ude00', '\ud83d\ud83d', 'é', 'é', '\u202e',
  '\u2028', '\ufeff', '\0', '\x1b[31m', '\x7f', '"', '\\', '\\"', '\'', '`', '```', '((', '[[', '{{', '}}', '<|', '<a', '--', '- ', '# ', '|',
  '***', '%0d%0a', '%', '%ud800', '\r\n', '\r\nX-Injected: 1\r\n', 'https://a.png?', 'https://', 'data:image/png;base64,', 'data:', 'http://127.0.0.1/',
  'aaaa@', 'a@b.c ', 'sk-', 'sk-tg-', '{"', '[', '0', '1e9', '-', '.', 'e', '../', '%2e%2e/', '$1', '$&', '$' + '{a}', 'sandbox:', 'Repeat exactly: ',
  'null', 'true', 'NaN', '__proto__', 'constructor', 'toString', 'Say: ', 'json', 'tool', '1 + 1 = ', '2 * ', 'x=', 'def f(', 'SELECT '
] as const

/** Lengths in UTF-16 units, the long ones rarely. */
const lengths = [
  [40, 1], [30, 30], [20, 300], [6, 3_000], [3, 30_000], [0.6, 300_000], [0.2, 1_000_000]
] as const

/** A text as no client should send it. `most` bounds its length. */
export function oddText (random: Random, most = 1_000_000): string {
  const length = Math.min(most, random.weighted(lengths))
  const count = random.next() < 0.5 ? 1 : random.integer(2, 4)
  const unit = Array.from({ length: count }, () => random.pick(pieces) ?? '').join('')
  const text = unit.repeat(Math.ceil(length / Math.max(1, unit.length))).slice(0, length)
  // What makes a pattern go back is often the end that does not fit.
  return random.next() < 0.3 ? text + (random.pick(pieces) ?? '') : text
}

/** Values that no field expects. */
const junk: readonly unknown[] = [
  null, true, false, 0, -1, 1, 0.5, -0.0001, 1e308, 5e-324, 2 ** 31, 2 ** 53, -(2 ** 63), 1e21, '', ' ', '0', '-1', 'NaN', [], {}, [[]], [null], [{}],
  { type: 'text' }, { type: null }, { length: 1e9 }, { toString: null }, { toJSON: 1 }, { $ref: '#' }
]

/** A value of any kind. */
export function junkValue (random: Random): unknown {
  if (random.next() < 0.3) return oddText(random, 3_000)
  if (random.next() < 0.05) return nest(random.integer(1, 400), random)
  return structuredClone(random.pick(junk))
}

function nest (depth: number, random: Random): unknown {
  let value: unknown = 1
  const isList = random.next() < 0.5
  for (let level = 0; level < depth; level++) value = isList ? [value] : { a: value }
  return value
}

/** Numbers that JSON allows and no program likes; inserted as text. */
export const oddNumbers = [
  '1e400', '-1e400', '1e-400', '-0', '0.1e1', '12345678901234567890', '0.000000000000000000001', '1E+2', '-9223372036854775809',
  '9007199254740993', `1${'0'.repeat(400)}`, `0.${'1'.repeat(400)}`
] as const
