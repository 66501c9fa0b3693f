import pino, { type Logger } from 'pino'

/** Log lines are written together: a write of its own for each would cost as much as the line itself. */
const buffer = { bytes: 16_000, flushMs: 100 }
/**
 * What waits for a slow reader: lines beyond that are lost, and so is what is left when the process ends and
 * the reader takes nothing for so long.
 */
const backlog = { bytes: 16 * 1024 * 1024, endMs: 1000 }

/** JSON lines on standard output, or readable ones when that is a terminal. */
export async function createLogger (level: string): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.epochTime }
  if (process.stdout.isTTY) {
    const { default: pretty } = await import('pino-pretty')
    return pino(options, pretty({ translateTime: 'SYS:HH:MM:ss.l', singleLine: true }))
  }
  let isEnding = false
  let progress = { leftBytes: Infinity, atMs: 0 }
  // Ahead of pino's own listener, which would wait for the reader for ever.
  process.once('exit', () => {
    isEnding = true
    try {
      destination.flushSync()
    } catch {
      destination.destroy()
    }
  })
  const destination = pino.destination({
    fd: 1,
    sync: false,
    minLength: buffer.bytes,
    maxLength: backlog.bytes,
    retryEAGAIN (_error, writing, waiting) {
      const nowMs = performance.now()
      if (writing + waiting !== progress.leftBytes) progress = { leftBytes: writing + waiting, atMs: nowMs }
      return !isEnding || nowMs < progress.atMs + backlog.endMs
    }
  })
  setInterval(() => destination.flush(), buffer.flushMs).unref()
  return pino(options, destination)
}
