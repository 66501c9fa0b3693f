import { randomBytes } from 'node:crypto'

/**
 * Returns a function that creates ids that are unique across processes. As text, each is greater than the one
 * before it and than those of processes that started earlier, so rows are appended at the end of an index.
 */
export function createIds (prefix: string, clock: () => number = Date.now): () => string {
  const started = clock().toString(36).padStart(9, '0')
  const ofProcess = `${prefix}${started}${randomBytes(8).toString('base64url')}`
  let count = 0
  let head = ''
  return () => {
    const tail = count % tails.length
    if (tail === 0) head = `${ofProcess}${(count / tails.length).toString(16).padStart(5, '0')}`
    count++
    return `${head}${tails[tail]}`
  }
}

/** The last digits of the numbers, because formatting a number would take most of the time. */
const tails = Array.from({ length: 16 ** 3 }, (_, number) => number.toString(16).padStart(3, '0'))
