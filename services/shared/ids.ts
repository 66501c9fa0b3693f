import { randomBytes } from 'node:crypto'

/**
 * Returns a function that creates ids that are unique across processes. As text, each is greater than the one
 * before it and than those of processes that started earlier, so rows are appended at the end of an index.
 * After the prefix there are only digits and small letters: a double click selects an id whole.
 */
export function createIds (prefix: string, clock: () => number = Date.now): () => string {
  const started = clock().toString(36).padStart(9, '0')
  const ofProcess = `${prefix}${started}${randomBytes(8).toString('hex')}`
  let count = 0
  return () => `${ofProcess}${(count++).toString(16).padStart(8, '0')}`
}
