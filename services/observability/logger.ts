import { writeSync } from 'node:fs'
import pino, { type Logger } from 'pino'

/** Log lines are written together: a write of its own for each would cost as much as the line itself. */
const buffer = { chars: 16_000, flushMs: 100 }
/**
 * What waits for a slow reader: lines beyond that are lost, and so is what is left when the process ends and
 * the reader takes nothing for so long.
 */
const backlog = { bytes: 16 * 1024 * 1024, endMs: 1000 }
/** How long to wait for a reader that has no room. */
const retryMs = 10

/** JSON lines on standard output, or readable ones when that is a terminal. */
export async function createLogger (level: string): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.epochTime }
  if (process.stdout.isTTY) {
    const { default: pretty } = await import('pino-pretty')
    return pino(options, pretty({ translateTime: 'SYS:HH:MM:ss.l', singleLine: true }))
  }
  let lines = ''
  let isEnding = false
  let progress = { leftBytes: Infinity, atMs: 0 }
  // Ahead of pino's own listener, which would wait for the reader for ever.
  process.once('exit', () => {
    isEnding = true
    try {
      destination.flushSync()
      // Not by way of the destination, which would try for ever to write to a reader that is gone.
      writeNow(lines)
    } catch {
      destination.destroy()
    }
  })
  const destination = pino.destination({
    fd: 1,
    sync: false,
    maxLength: backlog.bytes,
    retryEAGAIN (_error, writing, waiting) {
      const nowMs = performance.now()
      if (writing + waiting !== progress.leftBytes) progress = { leftBytes: writing + waiting, atMs: nowMs }
      return !isEnding || nowMs < progress.atMs + backlog.endMs
    }
  })
  // Gathered here, because the destination measures all it has for each line that comes.
  function write (line: string): void {
    lines += line
    if (lines.length >= buffer.chars) handOver()
  }
  function handOver (): void {
    if (lines !== '') destination.write(lines)
    lines = ''
  }
  setInterval(handOver, buffer.flushMs).unref()
  return pino(options, { write })
}

/** Writes to standard output while the reader takes something. Throws when it is gone. */
function writeNow (text: string): void {
  let left = Buffer.from(text)
  let progressMs = performance.now()
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left))
      progressMs = performance.now()
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isFull || performance.now() > progressMs + backlog.endMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
    }
  }
}
