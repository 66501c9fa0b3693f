import { randomBytes } from 'node:crypto'

/**
 * Returns a function that makes ids no other process makes, each one greater as text than the one before. A
 * table keyed by them grows at its end; random ids would dirty a page anywhere in its index for every row.
 */
export function createIds (prefix: string, clock: () => number = Date.now): () => string {
  const random = randomBytes(8).toString('base64url')
  let lastMs = 0
  let count = 0
  return () => {
    const nowMs = Math.max(clock(), lastMs)
    count = nowMs === lastMs ? count + 1 : 0
    lastMs = nowMs
    return `${prefix}${nowMs.toString(36).padStart(9, '0')}${count.toString(36).padStart(3, '0')}${random}`
  }
}
