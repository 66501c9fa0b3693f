import { charKinds, type TextCounts } from './reader.ts'
import { categories, categoryCount } from './vocabulary.ts'

const shape = [
  'length', 'words', 'wordLength', 'numbers', 'numberShare', 'lines', 'lineLength', 'options', 'indented', 'fences',
  'sentences', 'sentenceLength', 'distinct'
]

/** Names of the signals, in the order of their values. */
export const signalNames = [
  ...shape, ...charKinds.map(name => `char:${name}`), ...categories.map(name => `words:${name}`)
]
export const signalCount = signalNames.length

/**
 * Writes the `signalCount` signals of a text into `out`: logarithms of sizes and square roots of shares,
 * which bounds the influence of outliers.
 */
export function writeSignals (reading: TextCounts, out: Float32Array): void {
  const { chars, words, numbers, lines, options, indented, fences, sentences, size, kinds } = reading
  const perWord = 1 / Math.max(1, words)
  const perChar = 1 / Math.max(1, chars)
  out[0] = Math.log1p(chars)
  out[1] = Math.log1p(words)
  out[2] = chars * perWord
  out[3] = Math.log1p(numbers)
  out[4] = Math.sqrt(numbers * perWord)
  out[5] = Math.log1p(lines)
  out[6] = Math.log1p(chars / (1 + lines))
  out[7] = Math.log1p(options)
  out[8] = Math.log1p(indented)
  out[9] = Math.log1p(fences)
  out[10] = Math.log1p(sentences)
  out[11] = Math.log1p(words / (1 + sentences))
  out[12] = Math.log1p(size / Math.max(1, words))
  let at = shape.length
  for (let kind = 0; kind < kinds.length; kind++) out[at++] = Math.sqrt((kinds[kind] as number) * perChar)
  for (let category = 0; category < categoryCount; category++) {
    out[at++] = Math.sqrt((reading.categories[category] as number) * perWord)
  }
}
