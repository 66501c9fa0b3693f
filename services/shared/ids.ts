import { randomBytes } from 'node:crypto'

/**
 * Returns a function that creates ids that are unique across processes. As text, each is greater than
 * the previous one and those of processes that started earlier, so rows are appended at the end of an index.
 * After the prefix there are only digits and lower-case letters, so a double click selects the whole id.
 */
export function createIds (prefix: string, clock: () => number = Date.now): () => string {
  const started = clock().toString(36).padStart(9, '0')
  const ofProcess = `${prefix}${started}${randomBytes(8).toString('hex')}`
  let count = 0
  return () => `${ofProcess}${(count++).toString(16).padStart(8, '0')}`
}
