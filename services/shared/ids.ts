import { randomBytes } from 'node:crypto'

/**
 * Returns a function that makes ids no other process makes, each one greater as text than the one before, and
 * greater than those of processes that began earlier. A table keyed by them grows at its end; random ids
 * would dirty a page anywhere in its index for every row.
 */
export function createIds (prefix: string, clock: () => number = Date.now): () => string {
  const began = clock().toString(36).padStart(9, '0')
  const ofProcess = `${prefix}${began}${randomBytes(8).toString('base64url')}`
  let count = 0
  let head = ''
  return () => {
    const tail = count % tails.length
    if (tail === 0) head = `${ofProcess}${(count / tails.length).toString(16).padStart(5, '0')}`
    count++
    return `${head}${tails[tail]}`
  }
}

/** The last digits of the numbers: to write a number anew takes longer than all else. */
const tails = Array.from({ length: 16 ** 3 }, (_, number) => number.toString(16).padStart(3, '0'))
