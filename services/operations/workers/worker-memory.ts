import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

const mib = 1024 ** 2
const smallestMiB = 128
/** The rest is for buffers, compiled code and the system. */
const heapShare = 1 / 2

/**
 * Options of Node.js for one of `count` workers: together their heaps may take half of the memory, while each
 * process alone would assume all of it. An operator's option is left unchanged.
 */
export function heapOptions (
  count: number, { execArgv, env }: Pick<NodeJS.Process, 'execArgv' | 'env'> = process
): string[] {
  const isGiven = [...execArgv, env.NODE_OPTIONS ?? ''].some(option => /max[-_](old[-_]space|heap)[-_]size/.test(option))
  if (isGiven) return []
  const usualMiB = getHeapStatistics().heap_size_limit / mib
  const shareMiB = Math.max(smallestMiB, memoryBytes() * heapShare / count / mib)
  return shareMiB < usualMiB ? [`--max-old-space-size=${Math.floor(shareMiB)}`] : []
}

/** The memory of the container if it has a limit, otherwise of the machine. */
function memoryBytes (): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}
